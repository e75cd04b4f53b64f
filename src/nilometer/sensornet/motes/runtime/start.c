/* ---- start: told down the tree, once ------------------------------------------------------------------------------
 *
 * A packet to nobody in particular, with flags that no other has (an acknowledgement is never the last): how many ticks are left until FIRST, AIRTIME ticks after
 * the turn of who sends it began. That is when its children have it, to within a hundredth of a tick beside
 * what the crystal's edges add: on hardware TCNT0 and the prescaler begin anew up to two of its cycles, a sixteenth of a tick, later. */

enum { EVERYBODY = 255, BEGIN = 3 };

/* Cycles that are left of AIRTIME beside ten bytes on the air and the instructions at either end. */
#define TELL_DELAY 3800
