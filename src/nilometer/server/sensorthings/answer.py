"""What a GET finds: a set, filtered, ordered, paged and expanded; an entity; a property.

Expanding works on all entities of a page at once: the last values of 400 Datastreams are one pass over what latest.py
knows, and their last ten one pass over the newest segments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nilometer.errors import ConfigurationError
from nilometer.server.problems import NotFoundError
from nilometer.server.sensorthings.data_array import as_data_array
from nilometer.server.sensorthings.kinds import KINDS, OBSERVATIONS, Kind
from nilometer.server.sensorthings.looking import holds, value_of
from nilometer.server.sensorthings.model import Entity, Model
from nilometer.server.sensorthings.names import Id, join, split
from nilometer.server.sensorthings.observation import Row, datastream_of
from nilometer.server.sensorthings.observations import Reader
from nilometer.server.sensorthings.options import Expand, Options
from nilometer.server.sensorthings.ordering import sorted_by
from nilometer.server.sensorthings.paths import Target, find
from nilometer.server.sensorthings.segments import Order
from nilometer.server.sensorthings.selection import Part, Selection
from nilometer.server.sensorthings.writing import as_json, self_link

MOST = 100_000
"""The most entities of one answer, with those that are expanded."""


@dataclass(frozen=True)
class Page:
    """Entities of a page, the query of the next one, and how many there are in all, if that was asked."""

    entities: list[Entity]
    next: str | None
    count: int | None


class Answerer:
    """Answers one request. `root` is the address of the service."""

    def __init__(self, model: Model, reader: Reader, root: str) -> None:
        self._model = model
        self._reader = reader
        self._root = root
        self._left = MOST

    # ---- targets -----------------------------------------------------------------------------------------------------

    def answer(self, target: Target, options: Options) -> Any:
        """The JSON of a set, an entity or a property."""
        if target.entity is not None:
            return self._entity(target, target.entity, options)
        page = self._page(target.kind, target.ids, target.selection, options)
        found: dict[str, Any] = {} if page.count is None else {"@iot.count": page.count}
        if page.next is not None:
            found["@iot.nextLink"] = f"{self._root}/{target.path}?{page.next}"
        if target.ref:
            found["value"] = [{"@iot.selfLink": self.address(entity)} for entity in page.entities]
        elif options.data_array:
            found["value"] = as_data_array(self._root, page.entities, options)
        else:
            found["value"] = self._written(page.entities, options)
        return found

    def _entity(self, target: Target, entity: Entity, options: Options) -> Any:
        if target.ref:
            return {"@iot.selfLink": self.address(entity)}
        if not target.property:
            return self._written([entity], options)[0]
        if target.property[0] in ("id", "@iot.id"):
            return entity.id if target.raw else {"@iot.id": entity.id}
        value = entity.properties.get(target.property[0])
        if len(target.property) > 1:
            value = value_of(entity, target.property)
        if value is None and target.property[0] not in entity.properties:
            raise NotFoundError(f"'{'/'.join(target.property)}' has no value here")
        return value if target.raw else {target.property[-1]: value}

    def address(self, entity: Entity) -> str:
        """The address of an entity."""
        return self_link(self._root, entity.kind, entity.id)

    # ---- pages -------------------------------------------------------------------------------------------------------

    def _page(
        self, kind: Kind, ids: Sequence[Id] | None, selection: Selection | None, options: Options
    ) -> Page:
        if selection is not None:
            return self._observations(selection, options)
        assert ids is not None
        if options.filter is None and not options.order:
            chosen = ids[options.skip : options.skip + options.page]
            found = [entity for each in chosen if (entity := self._model.find(kind, each)) is not None]
            total = len(ids)
        else:
            every = [entity for each in ids if (entity := self._model.find(kind, each)) is not None]
            if options.filter is not None:
                condition = options.filter
                every = [entity for entity in every if holds(self._model, entity, condition)]
            every = sorted_by(self._model, every, options.order, lambda entity: entity)
            total = len(every)
            found = every[options.skip : options.skip + options.page]
        more = total > options.skip + len(found) and options.page > 0
        following = options.next(skip=str(options.skip + len(found))) if more else None
        return Page(self._counted(found), following, total if options.count else None)

    def _observations(self, selection: Selection, options: Options) -> Page:
        order = Order(options.order)
        rows = (
            self._in_turn(selection, options, order)
            if not order.keys
            else self._merged(selection, options, order)
        )
        chosen = rows[: options.page]
        following = None
        if _lean(options) and chosen:
            if sum(self._reader.count(part, None) for part in selection.parts) > 1:
                following = options.next(skip="1")
        elif len(rows) > len(chosen) and chosen:
            if order.keys:
                following = options.next(skip=str(options.skip + len(chosen)))
            else:
                following = options.next(skiptoken=_token(rows[len(chosen)]))
        count = None
        if options.count:
            count = sum(self._reader.count(part, options.filter) for part in selection.parts)
        entities = [self._reader.entity(row) for row in chosen]
        return Page(self._counted(entities), following, count)

    def _in_turn(self, selection: Selection, options: Options, order: Order) -> list[Row]:
        """One part after the other, each in the order of its log."""
        parts = list(selection.parts)
        start, need = 0, options.skip + options.page + 1
        if options.token is not None:
            parts, start = _after(parts, options.token)
        found: list[Row] = []
        for part in parts:
            found += self._reader.rows(part, options.filter, order, need - len(found), start=start)
            start = 0
            if len(found) >= need:
                break
        return found[options.skip :]

    def _merged(self, selection: Selection, options: Options, order: Order) -> list[Row]:
        need = 1 if _lean(options) else options.skip + options.page + 1
        found: list[Row] = []
        for part in selection.parts:
            found += self._reader.rows(part, options.filter, order, need)
        if order.time:
            found.sort(key=lambda row: (row.time, row.position), reverse=order.descending)
        elif len(selection.parts) > 1 or len(found) > need:
            found.sort(key=lambda row: row.position, reverse=order.descending)
            pairs = [(row, self._reader.entity(row)) for row in found]
            found = [row for row, _ in sorted_by(self._model, pairs, order.keys, lambda pair: pair[1])]
        return found[options.skip : need]

    def _counted(self, entities: list[Entity]) -> list[Entity]:
        self._left -= len(entities)
        if self._left < 0:
            raise ConfigurationError(
                f"the answer has more than {MOST:,} entities", hint="use a smaller $top, also inside $expand"
            )
        return entities

    # ---- entities with what they are linked to -----------------------------------------------------------------------

    def _written(self, entities: list[Entity], options: Options) -> list[dict[str, Any]]:
        found = [as_json(self._root, entity, options) for entity in entities]
        for expand in options.expand:
            name = expand.link.name
            if expand.link.to == OBSERVATIONS.name and expand.link.many:
                self._expand_observations(entities, found, expand)
            elif expand.link.many:
                to = KINDS[expand.link.to]
                for entity, written in zip(entities, found, strict=True):
                    page = self._page(to, self._model.link_of(entity, name), None, expand.options)
                    self._put(entity, written, expand, page)
            else:
                self._expand_ones(entities, found, expand)
        return found

    def _expand_ones(self, entities: list[Entity], written: list[dict[str, Any]], expand: Expand) -> None:
        """Links to one entity; one that many lead to is written once."""
        to = KINDS[expand.link.to]
        ends = [self._model.link_of(entity, expand.link.name) for entity in entities]
        wanted = list(dict.fromkeys(end[0] for end in ends if end))
        known = [found for each in wanted if (found := find(self._model, self._reader, to, each)) is not None]
        texts = self._written(self._counted(known), expand.options)
        by_id = {entity.id: text for entity, text in zip(known, texts, strict=True)}
        for end, text in zip(ends, written, strict=True):
            text[expand.link.name] = by_id.get(end[0]) if end else None

    def _put(self, entity: Entity, written: dict[str, Any], expand: Expand, page: Page) -> None:
        name = expand.link.name
        if page.count is not None:
            written[f"{name}@iot.count"] = page.count
        written[name] = self._written(page.entities, expand.options)
        if page.next is not None:
            written[f"{name}@iot.nextLink"] = f"{self.address(entity)}/{name}?{page.next}"

    def _expand_observations(
        self, entities: list[Entity], written: list[dict[str, Any]], expand: Expand
    ) -> None:
        options, order = expand.options, Order(expand.options.order)
        if not entities:
            return
        if entities[0].kind.singular != "Datastream" or options.skip or options.token is not None:
            for entity, text in zip(entities, written, strict=True):
                selection = self._model.observations_of(entity.kind, entity.id)
                self._put(entity, text, expand, self._observations(selection, options))
            return
        rows: dict[Id, list[Row]] = {entity.id: [] for entity in entities}
        counts: dict[Id, int] = {}
        need = options.page + (0 if options.page == 1 and options.top == 1 else 1)
        for part in _joined(self._model.of_datastream(entity.id) for entity in entities):
            for row in self._reader.rows(part, options.filter, order, need, each=True):
                rows[datastream_of(part, row.sensor)].append(row)
            if options.count or options.top == 1:
                known = (
                    self._reader.counts(part, options.filter)
                    if options.count or options.filter is None
                    else {}
                )
                counts |= {datastream_of(part, sensor): count for sensor, count in known.items()}
        for entity, text in zip(entities, written, strict=True):
            own = rows[entity.id]
            chosen = own[: options.page]
            more = len(own) > len(chosen) or (need == options.page and counts.get(entity.id, 0) > len(chosen))
            following = options.next(skip=str(len(chosen))) if more and options.page else None
            found = self._counted([self._reader.entity(row) for row in chosen])
            total = counts.get(entity.id, 0) if options.count else None
            self._put(entity, text, expand, Page(found, following, total))


def _lean(options: Options) -> bool:
    """Whether only the last observation is asked for, which needs no reading."""
    order = Order(options.order)
    return (
        options.top == 1 and not options.skip and options.filter is None and order.time and order.descending
    )


def _joined(selections: Iterable[Selection]) -> list[Part]:
    """Parts of one column with all their sensors together."""
    found: dict[tuple[int, str | None], list[Part]] = {}
    for selection in selections:
        for part in selection.parts:
            found.setdefault((id(part.source), part.column), []).append(part)
    return [
        Part(
            parts[0].source, parts[0].column, tuple(sensor for part in parts for sensor in part.sensors or ())
        )
        for parts in found.values()
    ]


def _token(row: Row) -> str:
    """Where the next page begins."""
    return join(row.part.source.stream.name, row.part.column or "", row.position)


def _after(parts: list[Part], token: str) -> tuple[list[Part], int]:
    found = split(token, 3)
    if found is not None and found[2].isdecimal() and len(found[2]) < 19:
        for place, part in enumerate(parts):
            if (part.source.stream.name, part.column or "") == found[:2]:
                return parts[place:], int(found[2])
    raise ConfigurationError("this $skiptoken is not known here", hint="begin again without it")
