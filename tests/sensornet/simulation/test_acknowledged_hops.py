"""Packets that are acknowledged and sent again: what the plan reserves, and what the simulated network makes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nilometer.catalog.network import Link, Network, NetworkNode
from nilometer.catalog.profiles import cost_profile
from nilometer.engine import connect
from nilometer.placement import Placement, QualityOfService, place
from nilometer.placement.acknowledgements import hop_of
from nilometer.placement.text import agenda_text, placement_json
from nilometer.sensornet.simulation import Clocks, Conditions, Kill, SimulationResult, simulate
from nilometer.sensornet.simulation.repair import prepare_overlay
from nilometer.sensornet.simulation.report import report_json, report_text
from nilometer.types import HOUR, MINUTE
from placement.valid_agenda import check_placement
from sensornet.simulation.running import QUERIES, SCHEMA, some_network

EVERY = 15 * MINUTE
FOREVER = 24 * HOUR


def planned(network: Network, query: str = "select", beta: int = 6) -> Placement:
    """The plan of a query on the network."""
    database = connect()
    database.execute(SCHEMA)
    quality = QualityOfService.of(delivery_time=FOREVER, buffering_factor=beta)
    return place(database.sql(QUERIES[query]).physical, network, quality)


def tree(quality: float, retries: int, costs: str = "mica2", back: float | None = None) -> Network:
    """Two sources behind a relay behind another, all sensing River; links of one quality, or of another one back."""
    nodes = [NetworkNode(0), NetworkNode(1, 65536, energy=31320.0)]
    nodes += [NetworkNode(number, 65536, energy=31320.0, streams=("River",)) for number in (2, 3, 4)]
    pairs = ((1, 0), (2, 1), (3, 2), (4, 2))
    links = [Link(*pair, quality) for pair in pairs]
    if back is not None:
        links += [Link(target, source, back) for source, target in pairs]
    return Network("tree", 0, tuple(nodes), tuple(links), cost_profile(costs), retries)


def ran(placement: Placement, periods: int, **conditions: object) -> SimulationResult:
    options = {"seed": 5, "losses": True, "batteries": False} | conditions
    return simulate(placement, periods * placement.beta * EVERY, Conditions(**options))  # type: ignore[arg-type]


def test_answers_are_complete_where_links_lose_three_packets_in_ten() -> None:
    """Of 0.7 without retries a tuple passes three hops with 0.34, two of them with 0.49."""
    periods, rows = 200, 200 * 6 * 3
    plain = ran(planned(tree(0.7, 0)), periods)
    once = ran(planned(tree(0.7, 1)), periods)
    thrice = ran(planned(tree(0.7, 3)), periods)
    seven = ran(planned(tree(0.7, 7)), periods)
    shares = [result.answer_rows / rows for result in (plain, once, thrice, seven)]
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx((0.7**2 + 2 * 0.7**3) / 3, abs=0.03)
    assert shares[1] == pytest.approx((0.91**2 + 2 * 0.91**3) / 3, abs=0.03)
    assert shares[2] == pytest.approx((0.9919**2 + 2 * 0.9919**3) / 3, abs=0.01)
    assert shares[3] > 0.998
    assert all(result.answer_rows + result.tuples_lost == rows for result in (plain, once, thrice, seven))


@pytest.mark.parametrize("costs", ["mica2", "nrf52840"])
@pytest.mark.parametrize(("quality", "back"), [(0.9, None), (0.7, None), (0.6, 1.0)])
def test_the_mean_of_sendings_and_energy_is_the_plans(costs: str, quality: float, back: float | None) -> None:
    """What the plan expects in a period is what the simulated network takes in many. Nodes 2, 3 and 4 sense, and so
    always have as many tuples as was planned, whatever was lost below."""
    network = tree(quality, 3, costs, back)
    placement = planned(network, "aggregate", beta=20)
    periods = 2500
    result = ran(placement, periods)
    for transfer in placement.agenda.transfers:
        hop = hop_of(network, transfer.source, transfer.target)
        assert transfer.reserved is not None
        expected = hop.expected(transfer.packets, transfer.reserved) / transfer.packets
        row = result.ledger.nodes.index(transfer.source)
        assert result.radio.sent[row] / result.radio.packets[row] == pytest.approx(expected, rel=0.03)
    for node in (2, 3, 4):
        spent, plan = result.ledger.of(node), placement.sites[node].energy
        assert spent.radio_transmit == pytest.approx(plan.radio_transmit * periods, rel=0.04)
        assert spent.total == pytest.approx(plan.total * periods, rel=0.003)
    acknowledged = int(result.radio.acknowledged.sum())
    sent, lost = int(result.radio.sent.sum()), int(result.radio.lost.sum())
    assert acknowledged / sent == pytest.approx(quality, abs=0.02)  # Wald's share of them arrives
    assert acknowledged == int(result.radio.packets.sum()) - lost + int(result.radio.duplicates.sum())


def test_a_sender_sleeps_when_it_is_through_and_a_receiver_does_not() -> None:
    """By hand, of a leaf: nothing is lost, so it sends one packet, and of four beats three are spared."""
    placement = planned(tree(1.0, 3))
    lossy = planned(tree(0.7, 3))
    (plain,) = (t for t in placement.agenda.transfers if t.source == 3)
    (long,) = (t for t in lossy.agenda.transfers if t.source == 3)
    assert (plain.reserved, long.reserved, plain.packets) == (1, 4, 1)
    spent = [ran(plan, 20, losses=False).ledger.of(3) for plan in (placement, lossy)]
    assert spent[0].radio_receive == pytest.approx(spent[1].radio_receive, rel=0.01)
    assert spent[0].radio_transmit == spent[1].radio_transmit
    # Its parent hears two such slots, and listens to the end of both.
    one, four = (ran(plan, 20, losses=False).ledger.of(2) for plan in (placement, lossy))
    costs = placement.costs
    more = 20 * costs.voltage * costs.radio_receive * 2 * 3 * plain.beat / 1000
    assert four.radio_receive - one.radio_receive == pytest.approx(more, rel=0.02)


def test_energy_is_between_that_of_an_idle_and_that_of_a_full_slot() -> None:
    placement = planned(tree(0.7, 3))
    result = ran(placement, 50)
    costs, agenda = placement.costs, placement.agenda
    for site, plan in placement.sites.items():
        radio = result.ledger.of(site).radio
        whole = sum(end - start for start, end in agenda.radio_intervals[site]) / agenda.tick_rate
        own = sum(t.sendings * t.beat / 1000 for t in agenda.transfers if t.source == site)
        assert whole - own <= plan.radio_time <= whole
        fewest = costs.voltage * costs.radio_receive * (whole - own) * 50
        mine = [t.sendings for t in agenda.transfers if t.source == site]
        heard = [t.sendings for t in agenda.transfers if t.target == site]
        each = costs.transmit_packet + costs.transmit_byte * costs.packet_payload
        on_air = (sum(mine) * each + sum(heard) * costs.transmit_acknowledgement) / 1000 * 50
        more = costs.voltage * (costs.radio_transmit - costs.radio_receive) * on_air
        more += costs.voltage * costs.radio_receive * own * 50
        asleep = result.ledger.of(site).radio_sleep
        assert fewest < radio - asleep < fewest + more
    # Reserving costs, whether it is used or not.
    assert result.energy() > ran(planned(tree(0.7, 0)), 50).energy()


def test_where_nothing_is_lost_every_packet_is_sent_and_acknowledged_once() -> None:
    placement = planned(tree(0.7, 3))
    counted = ran(placement, 30, losses=False)
    sent = ran(planned(tree(1.0, 3)), 30)  # the same, packet by packet
    for result in (counted, sent):
        assert result.packets_lost == 0
        assert (result.radio.sent == result.radio.packets).all()
        assert result.radio.acknowledged.sum() == result.radio.sent.sum()
        assert result.radio.duplicates.sum() == 0
    assert counted.radio.acknowledged.tolist() == sent.radio.acknowledged.tolist()
    assert counted.answer_rows == sent.answer_rows


def test_duplicates_are_dropped_and_counted() -> None:
    """Every packet arrives, half of the acknowledgements do not: much is heard twice, and nothing is answered twice."""
    placement = planned(tree(1.0, 7, back=0.5))
    periods, rows = 600, 600 * 6 * 3
    result = ran(placement, periods)
    # Until the first acknowledgement arrives it is 1/2 + 1/4 + ... sendings more.
    assert result.radio.duplicates.sum() / result.radio.packets.sum() == pytest.approx(1 - 0.5**7, abs=0.05)
    assert result.answer_rows + result.tuples_lost == rows
    assert result.lost_by_reason["link"] == 0
    assert result.tuples_lost / rows < 0.002  # slots that were over
    assert f"{int(result.radio.duplicates.sum())} duplicates dropped" in report_text(result)
    assert report_json(result)["duplicates"] == result.radio.duplicates.sum()


def test_how_a_run_is_cut_into_stretches_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    placement = planned(tree(0.7, 2))
    whole = ran(placement, 20)
    monkeypatch.setattr("nilometer.sensornet.simulation.run.ROWS_AT_ONCE", 1)
    cut = ran(placement, 20)
    assert whole.radio.sent.tolist() == cut.radio.sent.tolist()
    assert whole.radio.duplicates.tolist() == cut.radio.duplicates.tolist()
    assert whole.radio.lost_by.tolist() == cut.radio.lost_by.tolist()
    assert whole.ledger.joules == pytest.approx(cut.ledger.joules)


def test_a_death_a_drifting_clock_and_a_slot_that_is_over_are_told_apart() -> None:
    placement = planned(tree(0.7, 3))
    dead = ran(placement, 30, kills=(Kill(2, 20 * 6 * EVERY),), repair="none", spares=0)
    assert dead.lost_by_reason["death"] > 0
    drifting = ran(placement, 30, clocks=Clocks(50e-6, guard=0.001))
    assert drifting.lost_by_reason["clock"] > 0
    assert sum(drifting.lost_by_reason.values()) == drifting.packets_lost
    short = replace(
        placement,
        agenda=replace(
            placement.agenda,
            transfers=tuple(replace(t, reserved=t.packets) for t in placement.agenda.transfers),
        ),
    )
    over = ran(short, 100)
    assert over.lost_by_reason["slot"] > 50
    assert "as their slot was over" in report_text(over)


def test_a_slot_has_as_many_beats_as_are_reserved() -> None:
    """A beat: 76,799 cycles to send a packet, 3072 for each byte of the longest, and 18 of those for the acknowledgement."""
    network = tree(0.7, 3)
    placement = planned(network)
    content = {1: 6 + 1 + 6 * 3, 3: 29}  # by the packets of the hop: one with 6 tuples, or full ones
    for transfer in placement.agenda.transfers:
        beat = (14353 + 62446 + 3072 * (content[transfer.packets] + 18)) / 7_372_800
        assert transfer.reserved is not None
        guard = 124 / 7_372_800  # waking is before it; no window for clocks
        seconds = placement.agenda.seconds(transfer.end - transfer.start)
        assert seconds == pytest.approx(guard + transfer.reserved * beat, abs=2.1 / 32768)


def test_the_target_is_kept_in_every_slot() -> None:
    """No more than a thousandth of full slots ends before its packets are through (here: of those of the leaves)."""
    placement = planned(tree(0.6, 3), beta=40)
    result = ran(placement, 1500)
    rows = [result.ledger.nodes.index(site) for site in (3, 4)]
    over = result.radio.lost_by[1, rows].sum()
    assert over <= 3 * 0.001 * 1500 * 2


def test_slots_of_acknowledged_packets_keep_out_of_each_others_way() -> None:
    """Both ends send: no end of a transfer may hear an end of another at the same time."""
    for seed in range(4):
        network = replace(some_network(seed, 30), retries=2)
        placement = planned(network, "aggregate", beta=2)
        check_placement(placement)
        longer = placement.agenda.delivery
        assert longer > planned(replace(network, retries=0), "aggregate", beta=2).agenda.delivery


def test_without_retries_nothing_changes() -> None:
    """A plan for links that lose packets is that for links that do not, but for its routing."""
    placement = planned(tree(0.7, 0))
    perfect = planned(tree(1.0, 0))
    assert placement.agenda == perfect.agenda
    assert all(transfer.reserved is None for transfer in placement.agenda.transfers)
    assert "reserved" not in agenda_text(placement)
    assert placement.estimate == perfect.estimate


def test_the_agenda_says_what_is_reserved() -> None:
    placement = planned(tree(0.7, 3))
    text = agenda_text(placement)
    transfers = placement_json(placement)["agenda"]["transfers"]
    reserved = sum(transfer["reserved"] for transfer in transfers)
    assert f"in {reserved} reserved sendings, retries 3]" in text
    assert "expected sendings" in text
    assert "0.7, 0.7 back" in text
    assert all(transfer["reserved"] > transfer["packets"] for transfer in transfers)


def test_batteries_run_dry_no_later_than_the_most_that_a_period_can_take() -> None:
    """With a radio that listens dearer than it sends, too: the ledger never passes the stock by more than a period's."""
    network = tree(0.7, 3, "nrf52840")
    nodes = tuple(replace(node, energy=None if node.energy is None else 2.0) for node in network.nodes)
    placement = planned(replace(network, nodes=nodes))
    result = ran(placement, 40_000, batteries=True, repair="none", spares=0)
    assert result.deaths
    for death in result.deaths:
        row = result.ledger.nodes.index(death.node)
        assert np.isclose(result.ledger.joules[row].sum(), 2.0, rtol=0.01)


@pytest.mark.parametrize("repair", ["local", "partial", "global"])
def test_a_repaired_network_goes_on_with_retries(repair: str) -> None:
    """The stand-in, the turned branch and the plan made anew have slots with retries too."""
    for seed in range(60):
        network = some_network(seed, 24)
        links = tuple(replace(link, quality=0.8) for link in network.links)
        placement = planned(replace(network, links=links, retries=3))
        spares = prepare_overlay(placement, 1).spares
        covered = [site for site, others in spares.items() if others]
        if covered:
            break
    killed = (Kill(covered[0], 10 * placement.beta * EVERY + MINUTE),)
    result = ran(placement, 30, kills=killed, repair=repair)
    chosen = result.mended[0].chosen
    assert chosen is not None
    assert chosen.strategy == repair
    assert chosen.placement is not None
    assert chosen.placement.network.retries == 3
    assert all(transfer.reserved is not None for transfer in chosen.placement.agenda.transfers)
    sources = len(placement.routing.sources) - 1
    assert result.answer_rows > 0.9 * 30 * placement.beta * sources
