"""An agenda -> memory, time and energy of each site in a period, and of the network.

The processor is active while a site has a task, idle while only the rest of the network is awake (only where
all sites sleep together), and otherwise asleep. The radios of both ends are on around a transfer; they
listen, except while the sender transmits. The sensor board works during an acquisition. Where packets are
acknowledged and retried, the estimate is the mean over the losses of the links. Energy is voltage times
current times time, by component (SNEE sections 4.6 and 6.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from nilometer.catalog.network import Network, NodeId
from nilometer.placement.acknowledgements import hop_of
from nilometer.placement.agenda import Agenda
from nilometer.placement.cost_parameters import CostParameters
from nilometer.placement.packets import bytes_for
from nilometer.placement.profiles import PlacementProfile
from nilometer.placement.site_plan import Energy, Estimate, SitePlan
from nilometer.placement.workload import SiteWork, Workload


def estimate_sites(
    agenda: Agenda, work: Workload, network: Network, costs: CostParameters, profile: PlacementProfile
) -> Mapping[NodeId, SitePlan]:
    """The plan of every site of the routing tree, in post-order."""
    active, radio, sent, received, transmitting = _usage(agenda, work, network, costs, profile)
    awake = agenda.acquired * (agenda.beta - 1) + agenda.delivery - agenda.last_evaluation
    found: dict[NodeId, SitePlan] = {}
    for site, site_work in work.sites.items():
        idle = 0 if profile.sleeps_alone else awake - active[site]
        asleep = agenda.period - active[site] - idle
        sensing = agenda.beta * sum(job.sensing for job in site_work.leaves) / 1000
        energy = _energy(
            costs,
            active=agenda.seconds(active[site]),
            idle=agenda.seconds(idle),
            asleep=agenda.seconds(asleep),
            radio=agenda.seconds(radio[site]),
            transmitting=transmitting[site],
            sensing=sensing,
        )
        found[site] = _site_plan(
            site,
            site_work,
            agenda,
            network,
            costs,
            energy,
            times=(active[site], idle, asleep, radio[site]),
            packets=(sent[site], received[site]),
        )
    return MappingProxyType(found)


def estimate_network(agenda: Agenda, sites: Mapping[NodeId, SitePlan], sink: NodeId) -> Estimate:
    """The sums over all sites except the sink, which does not run on a battery, and the shortest lifetime."""
    others = [plan for site, plan in sites.items() if site != sink]
    return Estimate(
        period=agenda.seconds(agenda.period),
        delivery_time=agenda.seconds(agenda.delivery),
        packets=sum(transfer.packets for transfer in agenda.transfers),
        radio_time=sum(plan.radio_time for plan in sites.values()),
        energy=sum(plan.energy.total for plan in others),
        energy_without_board=sum(plan.energy.without_board for plan in others),
        lifetime=min((p.lifetime for p in others if p.lifetime is not None), default=None),
        lifetime_without_board=min(
            (p.lifetime_without_board for p in others if p.lifetime_without_board is not None), default=None
        ),
    )


def _usage(
    agenda: Agenda, work: Workload, network: Network, costs: CostParameters, profile: PlacementProfile
) -> tuple[
    dict[NodeId, float], dict[NodeId, float], dict[NodeId, int], dict[NodeId, int], dict[NodeId, float]
]:
    """For each site: ticks with a task, ticks with the radio on, packets sent, packets received, seconds on
    the air."""
    active: dict[NodeId, float] = dict.fromkeys(agenda.sites, 0)
    radio: dict[NodeId, float] = dict.fromkeys(agenda.sites, 0)
    sent = dict.fromkeys(agenda.sites, 0)
    received = dict.fromkeys(agenda.sites, 0)
    transmitting = dict.fromkeys(agenda.sites, 0.0)
    for task in agenda.acquisitions:
        active[task.site] += agenda.beta * (task.end - task.start)
    for task in agenda.tasks:
        active[task.site] += task.end - task.start
    for site, intervals in agenda.radio_intervals.items():
        radio[site] = sum(end - start for start, end in intervals)
        active[site] += radio[site]
    for transfer in agenda.transfers:
        sent[transfer.source] += transfer.packets
        received[transfer.target] += transfer.packets
        loads = work.sites[transfer.source].loads
        on_air = bytes_for(loads, agenda.beta, transfer.packets, costs.packet_overhead, profile.wire)
        often = 1.0
        if transfer.reserved is not None and transfer.packets:
            hop = hop_of(network, transfer.source, transfer.target)
            sendings = hop.expected(transfer.packets, transfer.reserved)
            often = sendings / transfer.packets
            # Each packet that arrives is acknowledged (Wald: the mean number of transmissions times the share that arrives).
            answers = sendings * hop.forward
            transmitting[transfer.target] += answers * costs.transmit_acknowledgement / 1000
            if agenda.sleeps_alone:  # a sender that finishes before the slot ends sleeps
                spared = (transfer.reserved - sendings) * transfer.beat * agenda.tick_rate / 1000
                radio[transfer.source] -= spared
                active[transfer.source] -= spared
        transmitting[transfer.source] += (
            often * (transfer.packets * costs.transmit_packet + on_air * costs.transmit_byte) / 1000
        )
    return active, radio, sent, received, transmitting


def _energy(
    costs: CostParameters,
    *,
    active: float,
    idle: float,
    asleep: float,
    radio: float,
    transmitting: float,
    sensing: float,
) -> Energy:
    period = active + idle + asleep
    return Energy(
        cpu_active=costs.voltage * costs.cpu_active * active,
        cpu_idle=costs.voltage * costs.cpu_idle * idle,
        cpu_sleep=costs.voltage * costs.cpu_sleep * asleep,
        radio_receive=costs.voltage * costs.radio_receive * (radio - transmitting),
        radio_transmit=costs.voltage * costs.radio_transmit * transmitting,
        radio_sleep=costs.voltage * costs.radio_sleep * (period - radio),
        sensor=costs.voltage * costs.sensor_on * sensing,
        sensor_board=costs.voltage * costs.sensor_board * period,
    )


def _site_plan(
    site: NodeId,
    site_work: SiteWork,
    agenda: Agenda,
    network: Network,
    costs: CostParameters,
    energy: Energy,
    *,
    times: tuple[float, float, float, float],
    packets: tuple[int, int],
) -> SitePlan:
    node = network.node(site)
    active, idle, asleep, radio = map(agenda.seconds, times)
    stock = None if site == network.sink else node.energy
    period = agenda.seconds(agenda.period)
    return SitePlan(
        site=site,
        fragments=tuple(job.fragment for job in (*site_work.leaves, *site_work.others)),
        fixed_ram=int(costs.fixed_ram),
        operator_ram=site_work.ram,
        buffer_ram=site_work.buffer * agenda.beta,
        available_ram=node.ram,
        active_time=active,
        idle_time=idle,
        sleep_time=asleep,
        radio_time=radio,
        packets_sent=packets[0],
        packets_received=packets[1],
        energy=energy,
        lifetime=None if stock is None else stock / energy.total * period,
        lifetime_without_board=None if stock is None else stock / energy.without_board * period,
    )
