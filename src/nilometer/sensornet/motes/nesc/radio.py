"""The tasks that use the radio and the serial line, as nesC modules: the tx and rx boxes of SNEE's Fig. 23, and DELIVER.

A message is a sequence of runs, as in our own runtime: a byte with the kind of the tuples and their number, then the
tuples. Its first byte says whether it is the sender's last of the slot.
"""

from __future__ import annotations

from nilometer.sensornet.motes.c_text import Lines, block
from nilometer.sensornet.motes.nesc.operators import module


def transmit(name: str, parent: int, kinds: list[int]) -> str:
    """Sends the tuples of some trays to the parent."""
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
                "uint8_t room = call AMSend.maxPayloadLength();",
                "uint8_t *payload = call AMSend.getPayload(&message, room);",
                "uint8_t used = 1;",
                f"const uint8_t kinds[] = {{{', '.join(map(str, kinds))}}};",
                *block(
                    f"for (; tray < {number}; tray++, first = 0)",
                    [
                        "uint8_t size = sizeOf(tray), rows = 0, run = used++;",
                        *block(
                            "while (first < countOf(tray) && used + size <= room && rows < 15)",
                            [
                                "memcpy(payload + used, getOf(tray, first++), size);",
                                "used += size;",
                                "rows++;",
                            ],
                        ),
                        "if (rows) payload[run] = kinds[tray] << 4 | rows; else used--;",
                        "if (first < countOf(tray)) break;",
                    ],
                ),
                f"payload[0] = tray == {number};",
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


def receive(name: str, child: int, kinds: list[int], slot: int) -> str:
    """Listens to a child until it has sent its last message, or its slot (in ticks) is over."""
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
            "event message_t *Receive.receive(message_t *message, void *content, uint8_t length)",
            [
                "const uint8_t *at = (const uint8_t *)content + 1, *end = (const uint8_t *)content + length;",
                f"if (!listening || call AMPacket.source(message) != {child}) return message;",
                *block(
                    "while (at < end)",
                    [
                        "uint8_t kind = *at >> 4, rows = *at & 15;",
                        "for (at++; rows && at < end; rows--) {",
                        *(
                            f"  {'else ' if place else ''}if (kind == {kind}) {{ call Tray{kind}.put(at); at += call Tray{kind}.size(); }}"
                            for place, kind in enumerate(kinds)
                        ),
                        "  else return message;",
                        "}",
                    ],
                ),
                "if (*(const uint8_t *)content) stopListening();",
                "return message;",
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
        "uses interface Receive;",
        "uses interface AMPacket;",
        "uses interface Timer<TMilli> as SlotEnd;",
        *(f"uses interface RawTray as Tray{kind};" for kind in kinds),
    ]
    return module(name, interfaces, body)


def deliver(name: str, row: str, beta: int) -> str:
    """DELIVER: every row to the serial line, in a message of its own: the number of its evaluation, and the row."""
    body = [
        "message_t message;",
        "uint8_t epoch;",
        "",
        *block(
            "void sendNext()",
            [
                f"const {row}_t *row = NULL;",
                "uint32_t number;",
                "uint8_t *payload;",
                *block(
                    f"while (epoch < {beta} && !(row = call Input.next()))",
                    [f"if (++epoch < {beta}) call Input.open(epoch);"],
                ),
                *block("if (!row)", ["call Serial.stop();", "return;"]),
                "number = call Evaluation.number(row->epoch);",
                "payload = call AMSend.getPayload(&message, sizeof number + sizeof *row);",
                "memcpy(payload, &number, sizeof number);",
                "memcpy(payload + sizeof number, row, sizeof *row);",
                "if (call AMSend.send(0, &message, sizeof number + sizeof *row) != SUCCESS) call Serial.stop();",
            ],
        ),
        "command void AgendaTask.run() { call Serial.start(); }",
        *block(
            "event void Serial.startDone(error_t error)", ["epoch = 0;", "call Input.open(0);", "sendNext();"]
        ),
        "event void AMSend.sendDone(message_t *sent, error_t error) { sendNext(); }",
        "event void Serial.stopDone(error_t error) { signal AgendaTask.done(); }",
    ]
    interfaces = [
        "provides interface AgendaTask;",
        f"uses interface Pull<{row}_t> as Input;",
        "uses interface Evaluation;",
        "uses interface SplitControl as Serial;",
        "uses interface AMSend;",
    ]
    return module(name, interfaces, body)
