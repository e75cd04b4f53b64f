#ifndef TIMER_H
#define TIMER_H
typedef struct { int unused; } TMilli;  /* 1024 a second */
#endif
