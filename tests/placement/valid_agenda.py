"""The judge of agendas: everything that must hold of a placement, checked the long way."""

from __future__ import annotations

from itertools import combinations, pairwise

from nilometer.placement import Flow, Placement, Transfer


def check_placement(placement: Placement) -> None:
    """Assert all of it."""
    check_nobody_does_two_things_at_once(placement)
    check_data_precedes_use(placement)
    check_transfers_do_not_disturb_each_other(placement)
    check_every_flow_arrives(placement)
    check_resources(placement)
    check_packets(placement)


def check_nobody_does_two_things_at_once(placement: Placement) -> None:
    agenda = placement.agenda
    for site in agenda.sites:
        busy = [
            (number * agenda.alpha + task.start, number * agenda.alpha + task.end)
            for number in range(agenda.beta)
            for task in agenda.acquisitions_at[site]
        ]
        busy += [(task.start, task.end) for task in agenda.column[site]]
        busy.sort()
        for (_, end), (start, _) in pairwise(busy):
            assert end <= start, f"site {site!r} is busy twice at {start}"
        if busy:
            assert busy[0][0] >= 0
            assert busy[-1][1] <= agenda.period


def check_data_precedes_use(placement: Placement) -> None:
    agenda, placed = placement.agenda, placement.placed
    sent = {transfer.source: transfer for transfer in agenda.transfers}
    done = {(task.fragment, task.site): task.end for task in agenda.tasks}
    begun = {(task.fragment, task.site): task.start for task in agenda.tasks}
    for task in agenda.acquisitions:
        done[task.fragment, task.site] = agenda.last_evaluation + task.end
    for flow in placed.flows:
        ready = done[flow.fragment, flow.source]
        for site in flow.path[:-1]:
            assert sent[site].start >= ready, f"{site!r} sends what it does not have"
            ready = sent[site].end
        if flow.consumer != flow.fragment or flow.path[-1] != flow.path[0]:
            assert begun[flow.consumer, flow.target] >= ready, f"F{flow.consumer} begins without its input"


def check_transfers_do_not_disturb_each_other(placement: Placement) -> None:
    network = placement.network
    for one, other in combinations(placement.agenda.transfers, 2):
        if one.end <= other.start or other.end <= one.start:
            continue
        assert not placement.profile.serial
        assert {one.source, one.target}.isdisjoint({other.source, other.target})
        assert network.link(other.source, one.target) is None, "a receiver hears another sender"
        assert network.link(one.source, other.target) is None, "a receiver hears another sender"
        if network.retries:  # receivers send acknowledgements, and senders hear them
            assert network.link(one.target, other.target) is None, "a receiver hears an acknowledgement"
            assert network.link(one.source, other.source) is None, (
                "a sender hears another, not its acknowledgement"
            )


def check_every_flow_arrives(placement: Placement) -> None:
    """Every instance but fragment 0's feeds exactly one other, along the tree, and each hop of it is in a transfer."""
    placed, routing = placement.placed, placement.routing
    crossing: dict[object, list[Flow]] = {t.source: list(t.flows) for t in placement.agenda.transfers}
    for transfer in placement.agenda.transfers:
        assert routing.parents[transfer.source] == transfer.target
    for flow in placed.flows:
        assert flow.target in placed.sites_of[flow.consumer]
        for child, parent in zip(flow.path, flow.path[1:], strict=False):
            assert routing.parents[child] == parent
            assert any(other is flow for other in crossing[child])
    feeding = [(flow.fragment, flow.source) for flow in placed.flows]
    assert sorted(feeding, key=str) == sorted(
        ((i.fragment, i.site) for i in placed.instances if i.fragment != 0), key=str
    )


def check_resources(placement: Placement) -> None:
    agenda = placement.agenda
    assert agenda.delivery <= agenda.period
    high = placement.quality.delivery_time.high
    if high is not None:
        assert agenda.seconds(agenda.delivery) * 1e6 <= high
    for plan in placement.sites.values():
        assert plan.available_ram is None or plan.ram <= plan.available_ram
        assert plan.sleep_time >= 0
        assert plan.energy.total > 0


def check_packets(placement: Placement) -> None:
    retries = placement.network.retries
    for transfer in placement.agenda.transfers:
        assert transfer.packets == packets_one_by_one(transfer, placement)
        assert (transfer.reserved is not None) == (retries > 0)
        assert transfer.packets <= transfer.sendings <= transfer.packets * (retries + 1)


def packets_one_by_one(transfer: Transfer, placement: Placement) -> int:
    """Put tuple after tuple into packets."""
    wire, room = placement.profile.wire, placement.costs.packet_room
    beta = placement.agenda.beta
    if not wire.shared:
        count = 0
        for flow in transfer.flows:
            left = 0
            for _ in range(flow.tuples(beta)):
                if left < flow.size:
                    count, left = count + 1, room
                left -= flow.size
        return count
    kinds: dict[tuple[int, int, int], list[Flow]] = {}
    for flow in transfer.flows:
        kinds.setdefault((flow.fragment, flow.consumer, flow.stride), []).append(flow)
    count, left = 0, 0
    for flows in kinds.values():
        opened = False  # this kind has a segment in the packet at hand
        for _ in range(sum(flow.tuples(beta) for flow in flows)):
            size = flows[0].size
            if left < size + (0 if opened else wire.segment_size):
                count, left, opened = count + 1, room, False
            if not opened:
                left, opened = left - wire.segment_size, True
            left -= size
    return count
