/* What nescc needs to know of TinyOS 2 to type-check an application: types and attributes, no operating system. */
#ifndef TOS_H
#define TOS_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef uint8_t bool;
enum { FALSE = 0, TRUE = 1 };
typedef uint8_t error_t;
enum { SUCCESS = 0, FAIL = 1, EBUSY = 5 };
typedef struct { int unused; } TMilli;
typedef uint16_t am_addr_t;
typedef uint8_t am_id_t;
enum { TOSH_DATA_LENGTH = 28 };
typedef struct message { uint8_t header[5]; uint8_t data[TOSH_DATA_LENGTH]; uint8_t footer[2]; } message_t;
typedef uint8_t __nesc_atomic_t;
__nesc_atomic_t __nesc_atomic_start(void) @spontaneous();
void __nesc_atomic_end(__nesc_atomic_t state) @spontaneous();
__nesc_atomic_t __nesc_atomic_start(void) @spontaneous() { return 0; }
void __nesc_atomic_end(__nesc_atomic_t state) @spontaneous() { }
#endif
