/* Many ATmega128 motes in lock step on libsimavr, with a radio between them. Linked with libsimavr (GPL), so that it runs
 * as a process of its own: it reads a description (argv[1]) and prints one JSON object a line.
 *
 *   interval CYCLES             the acquisition interval
 *   start CYCLES                when the first acquisition is due
 *   end CYCLES                  how long to run
 *   measure CYCLES              from when on cycles and bytes are counted; what goes wrong is counted from the beginning
 *   node ID ELF
 *   boot ID CYCLES              when it is switched on; its own cycles count from then
 *   link FROM TO QUALITY        what FROM sends, TO hears (or is disturbed by): of its packets that share, each as a whole
 *   seed N                      of what links lose
 *   drift ID PPB                by how much a node's clocks (all of them) are fast, in parts of 1e9; times above are true ones
 *   readings ID CHANNEL V ...   what the converter finds at each acquisition, in raw counts; the last one stays
 *
 * What simavr 1.6 does otherwise than the data sheet is put right here, each at its place: an interrupt's entry costs
 * nothing, sleep modes are not told apart, a UART frame has 11 bits, TXEN is set at reset, and an interrupt is taken
 * one instruction late after SEI. What is left as it is: a write to TCNT0 also restarts the prescaler, as PSR0 does on hardware; programs
 * that rely on it write both.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <simavr/avr_adc.h>
#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
#include <simavr/sim_interrupts.h>
#include <simavr/sim_io.h>
#include <simavr/sim_irq.h>

enum { FREQUENCY = 7372800, CHANNELS = 8, TASKS = 256, FAULTS = 8, COUNTS = 8, MODES = 8, FILL = 0xC5 };
enum { QUANTUM = 384, AIR_BYTE = 3840 };    /* one bit and one byte of 19,200 Bd, in cycles */
enum { ENTRY_CYCLES = 4 };                  /* of an interrupt, by the data sheet */
enum { RXEN = 0x10, TXEN = 0x08 };
enum { SLEEP = 0x9588 };                    /* the instruction */
enum { ADCSRA = 0x26, UCSR0B = 0x2A, TCCR1B = 0x4E, TCCR2 = 0x45, MCUCR = 0x55, TIMSK = 0x57, ETIMSK = 0x7D, TCCR3B = 0x8A,
       UCSR1B = 0x9A, COUNT_PORT = 0xFC, FAULT_PORT = 0xFD, MARK_PORT = 0xFE, RAM_START = 0x100 };

static const char *const mode_names[MODES] = {"idle", "adc_noise_reduction", "power_down", "power_save",
                                              "reserved4", "reserved5", "standby", "extended_standby"};

enum fate { HEARD, LOST, LOST_FIRST }; /* a byte that arrives; one of a packet that is lost; the first of one */

struct arrival {
    avr_cycle_count_t at;
    int from;
    uint8_t byte, fate;
};

struct link {
    int to;
    double quality;
    uint64_t random; /* each link has its own draws, so that the order of the nodes changes nothing */
    uint8_t loses;   /* what is on the air now */
};

struct task {
    uint64_t count, total, longest;
};

struct node {
    long id;
    int64_t drift;
    avr_cycle_count_t boot;
    avr_t *avr;
    uint32_t flash, ram;
    uint64_t asleep[MODES], wrong_sleeps, interrupts;
    avr_irq_t *radio_in, *converter;
    /* the air around it: bytes on their way, in order of arrival */
    struct arrival *air;
    int air_first, air_count, air_room;
    avr_cycle_count_t busy_until;
    int busy_with;
    uint64_t sent, received, unheard, missed, collisions, conversions;
    uint64_t sent_before, missed_before; /* what is measured */
    avr_cycle_count_t measured_from;
    avr_cycle_count_t began; /* its first task: a moment of true time */
    avr_cycle_count_t sent_at; /* its last byte */
    uint8_t radio;
    uint64_t receiving, sending, receiving_since, sending_since;
    int *readings[CHANNELS], reading_count[CHANNELS];
    uint8_t *serial;
    size_t serial_length, serial_room;
    struct task tasks[TASKS];
    uint8_t current;
    avr_cycle_count_t current_since;
    uint64_t faults[FAULTS], counts[COUNTS];
    struct link *links;
    int link_count;
};

static struct node *nodes;
static int node_count;
static uint64_t interval = FREQUENCY, start_at, end_at = FREQUENCY, measure_at, seed;

static void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

static void *grown(void *memory, size_t bytes) {
    void *result = realloc(memory, bytes);
    if (!result) die("out of memory");
    return result;
}

static void only_errors(avr_t *avr, const int level, const char *format, va_list arguments) {
    if (level == LOG_ERROR) vfprintf(stderr, format, arguments);
}

/* ---- time ------------------------------------------------------------------------------------------------------- */

enum { BILLION = 1000000000 };

/* A node counts its own cycles since it was switched on, of which there are more or fewer in a second of true time. Exact, and the same
 * number without drift. */
static avr_cycle_count_t own_time(const struct node *node, avr_cycle_count_t at) {
    return at < node->boot ? 0 : (__int128)(at - node->boot) * (BILLION + node->drift) / BILLION;
}

/* The first moment of true time at which a node has counted so many. */
static avr_cycle_count_t true_time(const struct node *node, avr_cycle_count_t cycles) {
    int64_t rate = BILLION + node->drift;
    return node->boot + ((__int128)cycles * BILLION + rate - 1) / rate;
}

/* ---- the processor ---------------------------------------------------------------------------------------------- */

/* simavr is about to skip `cycles` (and adds one); it keeps every clock running in every mode. What would not wake on
 * hardware is counted: SLEEP without SE, or a deep mode while something needs the main clock. */
static void on_sleep(avr_t *avr, avr_cycle_count_t cycles) {
    struct node *node = avr->custom.data;
    const uint8_t *data = avr->data;
    int mode = (data[MCUCR] >> 3 & 3) | (data[MCUCR] & 4);
    int timers = ((data[TIMSK] & 0x3C) && (data[TCCR1B] & 7)) || ((data[TIMSK] & 0xC0) && (data[TCCR2] & 7)) ||
                 ((data[ETIMSK] & 0x3C) && (data[TCCR3B] & 7));
    int needs_clock = timers || (data[ADCSRA] & 0x40) || (data[UCSR0B] & RXEN) || (data[UCSR1B] & (RXEN | TXEN));
    node->asleep[mode] += cycles + 1;
    if (!(data[MCUCR] & 0x20) || (mode >= 2 && needs_clock)) node->wrong_sleeps++;
}

static void on_interrupt(avr_irq_t *irq, uint32_t running, void *parameter) {
    if (running) ((struct node *)parameter)->interrupts++;
}

static void on_mark(avr_t *avr, avr_io_addr_t address, uint8_t value, void *parameter) {
    struct node *node = parameter;
    if (node->current) {
        struct task *task = &node->tasks[node->current];
        uint64_t took = avr->cycle - node->current_since;
        task->count++;
        task->total += took;
        if (took > task->longest) task->longest = took;
    }
    if (value && !node->began) node->began = true_time(node, avr->cycle);
    node->current = value;
    node->current_since = avr->cycle;
}

static void on_fault(avr_t *avr, avr_io_addr_t address, uint8_t value, void *parameter) {
    ((struct node *)parameter)->faults[value % FAULTS]++;
}

static void on_count(avr_t *avr, avr_io_addr_t address, uint8_t value, void *parameter) {
    ((struct node *)parameter)->counts[value % COUNTS]++;
}

static void on_baud(avr_t *avr, avr_io_addr_t address, uint8_t value, void *parameter) {
    avr_uart_t *uart = parameter;
    uart->cycles_per_byte = uart->cycles_per_byte * 10 / 11;
}

static void on_conversion(avr_irq_t *irq, uint32_t value, void *parameter) {
    struct node *node = parameter;
    union {
        uint32_t value;
        avr_adc_mux_t mux;
    } asked = {.value = value};
    int channel = asked.mux.src;
    node->conversions++;
    if (asked.mux.kind != ADC_MUX_SINGLE || channel >= CHANNELS || !node->reading_count[channel]) return;
    /* A clock that is fast acquires too early, by less than a quarter of the interval. */
    uint64_t now = true_time(node, node->avr->cycle) + interval / 4;
    uint64_t number = now < start_at ? 0 : (now - start_at) / interval;
    if (number >= (uint64_t)node->reading_count[channel]) number = node->reading_count[channel] - 1;
    avr_raise_irq(node->converter + ADC_IRQ_ADC0 + channel, node->readings[channel][number]);
}

static void on_serial(avr_irq_t *irq, uint32_t byte, void *parameter) {
    struct node *node = parameter;
    if (node->serial_length == node->serial_room)
        node->serial = grown(node->serial, node->serial_room = node->serial_room * 2 + 64);
    node->serial[node->serial_length++] = byte;
}

/* ---- the radio -------------------------------------------------------------------------------------------------- */

static void expect_arrival(struct node *node);

static avr_cycle_count_t on_arrival(avr_t *avr, avr_cycle_count_t when, void *parameter) {
    struct node *node = parameter;
    while (node->air_count && node->air[node->air_first].at <= avr->cycle) {
        struct arrival here = node->air[node->air_first];
        node->air_first = (node->air_first + 1) % node->air_room;
        node->air_count--;
        uint32_t byte = here.byte;
        if (!(node->radio & RXEN)) {
            node->unheard += here.fate == HEARD;
            continue;
        }
        if (here.fate != HEARD) {
            node->missed += here.fate == LOST_FIRST;
            continue;
        }
        if (here.at < node->busy_until && here.from != node->busy_with) {
            node->collisions++;
            byte = (byte ^ 0xFF) | UART_INPUT_FE;
        }
        node->busy_until = here.at + AIR_BYTE;
        node->busy_with = here.from;
        node->received++;
        avr_raise_irq(node->radio_in, byte);
    }
    expect_arrival(node);
    return 0;
}

static void expect_arrival(struct node *node) {
    if (!node->air_count) return;
    avr_cycle_count_t at = node->air[node->air_first].at, now = node->avr->cycle;
    avr_cycle_timer_register(node->avr, at > now ? at - now : 1, on_arrival, node);
}

static void put_in_air(struct node *node, struct arrival new) {
    if (node->air_count == node->air_room) {
        int room = node->air_room * 2 + 16;
        struct arrival *larger = grown(NULL, room * sizeof *larger);
        for (int i = 0; i < node->air_count; i++) larger[i] = node->air[(node->air_first + i) % node->air_room];
        free(node->air);
        node->air = larger;
        node->air_room = room;
        node->air_first = 0;
    }
    int at = node->air_count++;
    for (; at > 0; at--) {
        struct arrival *before = &node->air[(node->air_first + at - 1) % node->air_room];
        if (before->at <= new.at) break;
        node->air[(node->air_first + at) % node->air_room] = *before;
    }
    node->air[(node->air_first + at) % node->air_room] = new;
    if (at == 0) expect_arrival(node);
}

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t mixed(uint64_t value) {
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

static double draw(struct link *link) {
    link->random += 0x9E3779B97F4A7C15u;
    return (mixed(link->random) >> 11) * 0x1p-53;
}

/* A packet is what is sent without a gap of a bit or more. It is lost as a whole, at each of those who could hear it by itself, and then
 * disturbs nobody. */
static void on_radio_byte(avr_irq_t *irq, uint32_t byte, void *parameter) {
    struct node *node = parameter;
    avr_cycle_count_t now = node->avr->cycle;
    int begins = !node->sent++ || now - node->sent_at > AIR_BYTE + QUANTUM;
    node->sent_at = now;
    avr_cycle_count_t arrives = true_time(node, now) + QUANTUM;
    for (int i = 0; i < node->link_count; i++) {
        struct link *link = &node->links[i];
        if (begins) link->loses = link->quality < 1 && draw(link) >= link->quality;
        uint8_t fate = !link->loses ? HEARD : begins ? LOST_FIRST : LOST;
        struct node *hearer = &nodes[link->to];
        if (arrives < hearer->boot) continue;
        put_in_air(hearer, (struct arrival){own_time(hearer, arrives), (int)(node - nodes), byte, fate});
    }
}

static void account_radio(struct node *node, uint8_t state) {
    uint64_t now = node->avr->cycle;
    uint8_t before = node->radio;
    if (before & RXEN) node->receiving += now - node->receiving_since;
    if (before & TXEN) node->sending += now - node->sending_since;
    node->receiving_since = node->sending_since = now;
    node->radio = state;
}

static void on_radio_power(avr_irq_t *irq, uint32_t value, void *parameter) { account_radio(parameter, value); }

/* ---- lock step -------------------------------------------------------------------------------------------------- */

/* Stays armed until it is taken away: a core that falls asleep at the very moment must not skip to its next alarm. */
static avr_cycle_count_t at_barrier(avr_t *avr, avr_cycle_count_t when, void *parameter) { return avr->cycle + 1; }

static int has_ended(const avr_t *avr) { return avr->state == cpu_Done || avr->state == cpu_Crashed; }

/* simavr takes an interrupt that is pending at SEI two instructions later, hardware one: with "sei; sleep" the core would
 * sleep over it. It counts the delay up from a negative state, so that it may have to be asked more than once; and it
 * enters the handler without waking, to be seen by interrupts that are off in a core that sleeps. Hardware executes what is
 * after SEI before the handler: a SLEEP there is left at once, and must not be met on the way back from the handler. */
static void serve(avr_t *avr) {
    if (avr->interrupt_state < 0 && avr->sreg[S_I] && avr_has_pending_interrupts(avr) &&
        (avr->flash[avr->pc] | avr->flash[avr->pc + 1] << 8) == SLEEP) {
        avr->pc += 2;
        avr->cycle++;
    }
    for (int i = 0; i < 4 && avr->sreg[S_I] && avr_has_pending_interrupts(avr); i++) avr_service_interrupts(avr);
    if (avr->state == cpu_Sleeping && !avr->sreg[S_I]) avr->state = cpu_Running;
}

static void run_to(struct node *node, avr_cycle_count_t until) {
    avr_t *avr = node->avr;
    if (avr->cycle >= until || has_ended(avr)) return;
    /* The barrier keeps a sleeping core from skipping past the moment at which it could hear something. */
    avr_cycle_timer_register(avr, until - avr->cycle, at_barrier, node);
    while (avr->cycle < until && !has_ended(avr)) {
        avr_run(avr);
        if (!has_ended(avr)) serve(avr);
    }
    avr_cycle_timer_cancel(avr, at_barrier, node);
}

/* Nobody can send before `earliest` (the clock of the slowest node, or the alarm that will wake it), and what is sent
 * arrives a quantum later: so far may all run on their own. The order of the nodes changes nothing. */
static void run_all(avr_cycle_count_t begin_at, avr_cycle_count_t end_at) {
    for (avr_cycle_count_t until = begin_at + QUANTUM < end_at ? begin_at + QUANTUM : end_at;;) {
        for (int i = 0; i < node_count; i++) run_to(&nodes[i], own_time(&nodes[i], until));
        if (until >= end_at) return;
        avr_cycle_count_t earliest = end_at;
        for (int i = 0; i < node_count; i++) {
            avr_t *avr = nodes[i].avr;
            if (has_ended(avr)) continue;
            avr_cycle_count_t next = avr->cycle;
            avr_cycle_timer_slot_p timer = avr->cycle_timers.timer;
            if (avr->state == cpu_Sleeping && !avr_has_pending_interrupts(avr) && timer && timer->when > next)
                next = timer->when;
            next = true_time(&nodes[i], next);
            if (next < earliest) earliest = next;
        }
        until = earliest + QUANTUM < end_at ? earliest + QUANTUM : end_at;
    }
}

/* What there was up to now is not measured. */
static void forget(struct node *node) {
    account_radio(node, node->radio);
    node->measured_from = node->avr->cycle;
    memset(node->asleep, 0, sizeof node->asleep);
    node->missed_before = node->missed;
    node->interrupts = node->receiving = node->sending = node->received = node->unheard = node->missed = 0;
    node->sent_before = node->sent;
}

/* ---- beginning and end ------------------------------------------------------------------------------------------ */

static struct node *find(long id) {
    for (int i = 0; i < node_count; i++)
        if (nodes[i].id == id) return &nodes[i];
    die("no node %ld", id);
    return NULL;
}

static void load(struct node *node, const char *path) {
    elf_firmware_t firmware = {{0}};
    if (elf_read_firmware(path, &firmware) < 0) die("cannot read %s", path);
    firmware.frequency = FREQUENCY;
    avr_t *avr = node->avr = avr_make_mcu_by_name("atmega128");
    if (!avr) die("this libsimavr has no atmega128");
    avr_init(avr);
    avr->log = LOG_ERROR;
    avr_load_firmware(avr, &firmware);
    node->flash = firmware.flashsize;
    node->ram = firmware.datasize + firmware.bsssize;
    avr->frequency = FREQUENCY;
    avr->vcc = avr->avcc = avr->aref = 1023; /* so that millivolts are raw counts */
    avr->run_cycle_limit = 100000;
    avr->sleep = on_sleep;
    memset(avr->data + RAM_START, FILL, avr->ramend + 1 - RAM_START);
    avr->data[UCSR0B] &= ~TXEN;
    avr->data[UCSR1B] &= ~TXEN;
}

/* After all nodes are known, as these keep pointers to them. */
static void wire(struct node *node) {
    avr_t *avr = node->avr;
    avr->custom.data = node;
    for (int i = 0; i < node->link_count; i++)
        node->links[i].random = mixed(mixed(seed + 1) + mixed(node->id * 65536 + nodes[node->links[i].to].id));
    uint32_t no_flags = 0;
    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &no_flags);
    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('1'), &no_flags);
    for (avr_io_t *io = avr->io_port; io; io = io->next)
        if (!strcmp(io->kind, "uart")) avr_register_io_write(avr, ((avr_uart_t *)io)->ubrrl.reg, on_baud, io);
    node->converter = avr_io_getirq(avr, AVR_IOCTL_ADC_GETIRQ, 0);
    node->radio_in = avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('1'), UART_IRQ_INPUT);
    avr_irq_register_notify(node->converter + ADC_IRQ_OUT_TRIGGER, on_conversion, node);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT), on_serial, node);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('1'), UART_IRQ_OUTPUT), on_radio_byte, node);
    avr_irq_register_notify(avr_iomem_getirq(avr, UCSR1B, "ucsr1b", AVR_IOMEM_IRQ_ALL), on_radio_power, node);
    avr_irq_register_notify(avr_get_interrupt_irq(avr, AVR_INT_ANY) + AVR_INT_IRQ_RUNNING, on_interrupt, node);
    avr_register_io_write(avr, MARK_PORT, on_mark, node);
    avr_register_io_write(avr, FAULT_PORT, on_fault, node);
    avr_register_io_write(avr, COUNT_PORT, on_count, node);
}

static void read_description(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) die("cannot read %s", path);
    char word[32], elf[4096];
    long from, to;
    double quality;
    while (fscanf(file, "%31s", word) == 1) {
        if (!strcmp(word, "interval") && fscanf(file, "%" SCNu64, &interval) == 1 && interval) continue;
        if (!strcmp(word, "start") && fscanf(file, "%" SCNu64, &start_at) == 1) continue;
        if (!strcmp(word, "end") && fscanf(file, "%" SCNu64, &end_at) == 1) continue;
        if (!strcmp(word, "measure") && fscanf(file, "%" SCNu64, &measure_at) == 1) continue;
        if (!strcmp(word, "node") && fscanf(file, "%ld %4095[^\n]", &from, elf) == 2) {
            nodes = grown(nodes, (node_count + 1) * sizeof *nodes);
            memset(&nodes[node_count], 0, sizeof *nodes);
            nodes[node_count].id = from;
            nodes[node_count].busy_with = -1;
            load(&nodes[node_count++], elf);
            continue;
        }
        if (!strcmp(word, "seed") && fscanf(file, "%" SCNu64, &seed) == 1) continue;
        if (!strcmp(word, "drift") && fscanf(file, "%ld %ld", &from, &to) == 2 && labs(to) < BILLION) {
            find(from)->drift = to;
            continue;
        }
        if (!strcmp(word, "boot") && fscanf(file, "%ld %ld", &from, &to) == 2 && to >= 0) {
            find(from)->boot = to;
            continue;
        }
        if (!strcmp(word, "link") && fscanf(file, "%ld %ld %lf", &from, &to, &quality) == 3) {
            struct node *node = find(from);
            node->links = grown(node->links, (node->link_count + 1) * sizeof *node->links);
            node->links[node->link_count++] = (struct link){(int)(find(to) - nodes), quality, 0, 0};
            continue;
        }
        if (!strcmp(word, "readings") && fscanf(file, "%ld %ld", &from, &to) == 2 && to >= 0 && to < CHANNELS) {
            struct node *node = find(from);
            for (int value; fscanf(file, " %d", &value) == 1;) {
                int count = node->reading_count[to]++;
                node->readings[to] = grown(node->readings[to], (count + 1) * sizeof(int));
                node->readings[to][count] = value;
            }
            continue;
        }
        die("%s: cannot make sense of '%s'", path, word);
    }
    fclose(file);
}

static void report(struct node *node) {
    avr_t *avr = node->avr;
    uint64_t asleep = 0, cycles = avr->cycle - node->measured_from;
    for (int mode = 0; mode < MODES; mode++) asleep += node->asleep[mode];
    account_radio(node, 0);
    int lowest = RAM_START + node->ram; /* what the stack never touched still holds the fill */
    while (lowest <= avr->ramend && avr->data[lowest] == FILL) lowest++;
    printf("{\"node\":%ld,\"state\":\"%s\",\"cycles\":%" PRIu64 ",\"active\":%" PRIu64 ",\"interrupts\":%" PRIu64, node->id,
           avr->state == cpu_Crashed ? "crashed" : avr->state == cpu_Done ? "ended" : "running", cycles,
           cycles - asleep + ENTRY_CYCLES * node->interrupts, node->interrupts);
    printf(",\"asleep\":{");
    for (int mode = 0, first = 1; mode < MODES; mode++)
        if (node->asleep[mode]) printf("%s\"%s\":%" PRIu64, first ? (first = 0, "") : ",", mode_names[mode], node->asleep[mode]);
    printf("},\"wrong_sleeps\":%" PRIu64 ",\"receiving\":%" PRIu64 ",\"sending\":%" PRIu64 ",\"sent\":%" PRIu64
           ",\"received\":%" PRIu64 ",\"unheard\":%" PRIu64 ",\"missed\":%" PRIu64 ",\"missed_before\":%" PRIu64
           ",\"collisions\":%" PRIu64 ",\"conversions\":%" PRIu64,
           node->wrong_sleeps, node->receiving, node->sending, node->sent - node->sent_before, node->received, node->unheard, node->missed,
           node->missed_before, node->collisions, node->conversions);
    printf(",\"flash\":%" PRIu32 ",\"ram\":%" PRIu32 ",\"stack\":%d,\"faults\":{", node->flash, node->ram,
           avr->ramend + 1 - lowest);
    for (int code = 0, first = 1; code < FAULTS; code++)
        if (node->faults[code]) printf("%s\"%d\":%" PRIu64, first ? (first = 0, "") : ",", code, node->faults[code]);
    printf("},\"counts\":{");
    for (int what = 0, first = 1; what < COUNTS; what++)
        if (node->counts[what]) printf("%s\"%d\":%" PRIu64, first ? (first = 0, "") : ",", what, node->counts[what]);
    printf("},\"tasks\":{");
    for (int number = 0, first = 1; number < TASKS; number++)
        if (node->tasks[number].count)
            printf("%s\"%d\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", first ? (first = 0, "") : ",", number,
                   node->tasks[number].count, node->tasks[number].total, node->tasks[number].longest);
    printf("},\"began\":");
    if (node->began) printf("%" PRId64, (int64_t)(node->began - start_at));
    else printf("null");
    printf(",\"serial\":\"");
    for (size_t i = 0; i < node->serial_length; i++) printf("%02x", node->serial[i]);
    printf("\"}\n");
}

int main(int count, char **arguments) {
    if (count != 2) die("usage: harness DESCRIPTION");
    avr_global_logger_set(only_errors);
    read_description(arguments[1]);
    for (int i = 0; i < node_count; i++) wire(&nodes[i]);
    if (measure_at) {
        run_all(0, measure_at);
        for (int i = 0; i < node_count; i++) forget(&nodes[i]);
    }
    run_all(measure_at, end_at);
    for (int i = 0; i < node_count; i++) report(&nodes[i]);
    return 0;
}
