"""The tasks that use the radio and the serial line, as nesC modules: the tx and rx boxes of SNEE's Fig. 23,
and DELIVER.

A message is a sequence of runs, as in our own runtime: a byte with the kind and the number of the tuples,
then the tuples. After the last run of a slot comes a byte `END`, which is free because fragment 0 sends
nothing by radio.
"""

from __future__ import annotations

from nilometer.sensornet.motes.c_text import Lines, block
from nilometer.sensornet.motes.nesc.operators import module

END = 0


def transmit(name: str, parent: int, kinds: list[int]) -> str:
    """Sends the tuples of the given trays to the parent."""
    number = len(kinds)
    choose = [f"if (tray == {place}) return call Tray{kind}.{{}};" for place, kind in enumerate(kinds)]

    def chosen(result: str, command: str, argument: str = "") -> Lines:
        lines = [line.format(f"{command}({'index' if argument else ''})") for line in choose[:-1]]
        return block(
            f"{result} {command}Of(uint8_t tray{argument})",
            [*lines, f"return call Tray{kinds[-1]}.{command}({'index' if argument else ''});"],
        )

    body = [
        "message_t message;",
        "bool running;  // the radio tells every task that uses it, whoever switched it",
        "uint8_t tray;",
        "uint16_t first;",
        "",
        *chosen("uint8_t", "size"),
        *chosen("uint16_t", "count"),
        *chosen("const uint8_t *", "get", ", uint16_t index"),
        "",
        *block(
            "void sendNext()",
            [
                "uint8_t room = call AMSend.maxPayloadLength() - 1;  // the end mark fits every message",
                "uint8_t *payload = call AMSend.getPayload(&message, room + 1);",
                "uint8_t used = 0;",
                f"const uint8_t kinds[] = {{{', '.join(map(str, kinds))}}};",
                *block(
                    f"for (; tray < {number}; tray++, first = 0)",
                    [
                        "uint8_t size = sizeOf(tray), rows = 0, run = used++;",
                        "uint16_t count = countOf(tray);",
                        *block(
                            "while (first < count && used + size <= room && rows < 15)",
                            [
                                "memcpy(payload + used, getOf(tray, first++), size);",
                                "used += size;",
                                "rows++;",
                            ],
                        ),
                        "if (rows) payload[run] = kinds[tray] << 4 | rows; else used--;",
                        "if (first < count) break;",
                    ],
                ),
                f"if (tray == {number}) payload[used++] = {END};",
                f"if (call AMSend.send({parent}, &message, used) != SUCCESS) call Radio.stop();",
            ],
        ),
        *block(
            "command void AgendaTask.run()",
            ["running = TRUE;", "tray = 0;", "first = 0;", "call Radio.start();"],
        ),
        "event void Radio.startDone(error_t error) { if (running) sendNext(); }",
        *block(
            "event void AMSend.sendDone(message_t *sent, error_t error)",
            [f"if (tray < {number}) sendNext(); else call Radio.stop();"],
        ),
        *block(
            "event void Radio.stopDone(error_t error)",
            [
                "if (!running) return;",
                "running = FALSE;",
                *(f"call Tray{kind}.clear();" for kind in kinds),
                "signal AgendaTask.done();",
            ],
        ),
    ]
    interfaces = [
        "provides interface AgendaTask;",
        "uses interface SplitControl as Radio;",
        "uses interface AMSend;",
        *(f"uses interface RawTray as Tray{kind};" for kind in kinds),
    ]
    return module(name, interfaces, body)


def receive(name: str, kinds: list[int], slot: int) -> str:
    """Listens to a child until it has sent its last message, or until its slot (in ticks) ends."""
    body = [
        "bool running;  // the radio tells every task that uses it, whoever switched it",
        "bool listening;",
        "",
        *block(
            "command void AgendaTask.run()",
            ["running = listening = TRUE;", f"call SlotEnd.startOneShot({slot}UL);", "call Radio.start();"],
        ),
        "event void Radio.startDone(error_t error) { }",
        *block("void stopListening()", ["listening = FALSE;", "call SlotEnd.stop();", "call Radio.stop();"]),
        "event void SlotEnd.fired() { if (listening) stopListening(); }",
        *block(
            "event void Heard.heard(const uint8_t *at, uint8_t length)",
            [
                "const uint8_t *end = at + length;",
                "if (!listening) return;",
                *block(
                    "while (at < end)",
                    [
                        "uint8_t kind = *at >> 4, rows = *at & 15;",
                        *block(f"if (*at++ == {END})", ["stopListening();", "return;"]),
                        *block(
                            "for (; rows && at < end; rows--)",
                            [
                                *(
                                    f"{'else ' if place else ''}if (kind == {kind}) {{ call Tray{kind}.put(at); at += call Tray{kind}.size(); }}"
                                    for place, kind in enumerate(kinds)
                                ),
                                "else return;",
                            ],
                        ),
                    ],
                ),
            ],
        ),
        *block(
            "event void Radio.stopDone(error_t error)",
            ["if (!running) return;", "running = FALSE;", "signal AgendaTask.done();"],
        ),
    ]
    interfaces = [
        "provides interface AgendaTask;",
        "uses interface SplitControl as Radio;",
        "uses interface Heard;",
        "uses interface Timer<TMilli> as SlotEnd;",
        *(f"uses interface RawTray as Tray{kind};" for kind in kinds),
    ]
    return f'#include "Timer.h"\n{module(name, interfaces, body)}'


def deliver(name: str, rows: list[str], beta: int) -> str:
    """DELIVER: sends all rows over the serial line, kind by kind. A message has the kind, the number of the
    period's first evaluation, and as many rows as fit. Each row begins with its evaluation in the period."""
    begin: Lines = []
    for kind, type_ in enumerate(rows):
        begin += block(
            f"if (kind == {kind})",
            [
                f"size = sizeof({type_}_t);",
                f"call Input{kind}.begin(epoch);",
                f"call Input{kind}.open();",
            ],
        )
    taking = [f"if (kind == {k}) row = (const uint8_t *)call Input{k}.next();" for k in range(len(rows))]
    body = [
        "message_t message;",
        "uint8_t kind, epoch, size;",
        "const uint8_t *row;  // the next to be sent; NULL: there is none in this evaluation",
        "",
        *block("void begin()", begin),
        *block("void take()", taking),
        *block(
            "bool found()",
            [
                *block(
                    "for (;;)",
                    [
                        "take();",
                        "if (row) return TRUE;",
                        f"if (++epoch == {beta}) return FALSE;",
                        "begin();",
                    ],
                )
            ],
        ),
        *block(
            "void sendNext()",
            [
                "uint8_t room = call AMSend.maxPayloadLength(), used = 5;",
                "uint8_t *payload = call AMSend.getPayload(&message, room);",
                "uint32_t first = call Evaluation.number(0);",
                *block(
                    "while (!row)",
                    [
                        *block(f"if (++kind == {len(rows)})", ["call Serial.stop();", "return;"]),
                        "epoch = 0;",
                        "begin();",
                        "found();",
                    ],
                ),
                "payload[0] = kind;",
                "memcpy(payload + 1, &first, sizeof first);",
                *block(
                    "do",
                    ["memcpy(payload + used, row, size);", "used += size;"],
                )[:-1],
                "} while (found() && used + size <= room);",
                "if (call AMSend.send(0, &message, used) != SUCCESS) call Serial.stop();",
            ],
        ),
        "command void AgendaTask.run() { call Serial.start(); }",
        *block(
            "event void Serial.startDone(error_t error)",
            ["kind = 255;  // before the first", "row = NULL;", "sendNext();"],
        ),
        "event void AMSend.sendDone(message_t *sent, error_t error) { sendNext(); }",
        *block(
            "event void Serial.stopDone(error_t error)", ["call Trays.clear();", "signal AgendaTask.done();"]
        ),
    ]
    interfaces = [
        "provides interface AgendaTask;",
        *(f"uses interface Pull<{row}_t> as Input{kind};" for kind, row in enumerate(rows)),
        "uses interface Clear as Trays;",
        "uses interface Evaluation;",
        "uses interface SplitControl as Serial;",
        "uses interface AMSend;",
    ]
    return module(name, interfaces, body)
