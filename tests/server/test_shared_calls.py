"""Those who ask for the same share calls, and each gets what was made after it asked."""

from __future__ import annotations

import asyncio

import pytest

from nilometer.server.shared_calls import SharedCalls


def test_whoever_comes_during_a_call_shares_the_next_one() -> None:
    async def run() -> None:
        calls: SharedCalls[int] = SharedCalls()
        made, go = 0, asyncio.Event()

        async def call() -> int:
            nonlocal made
            made += 1
            number = made
            await go.wait()
            return number

        early = [asyncio.ensure_future(calls.ask("a", call)) for _ in range(3)]
        while not made:
            await asyncio.sleep(0)
        late = [asyncio.ensure_future(calls.ask("a", call)) for _ in range(3)]
        other = asyncio.ensure_future(calls.ask("b", call))
        while made < 2:
            await asyncio.sleep(0)
        late[0].cancel()  # one who goes takes nothing from the others
        go.set()
        assert await asyncio.gather(*early) == [1, 1, 1]
        assert await other == 2
        assert await asyncio.gather(*late[1:]) == [3, 3]
        assert not calls._running
        assert not calls._next

    asyncio.run(run())


def test_an_error_is_for_all_who_share_the_call_and_for_nobody_else() -> None:
    async def run() -> None:
        calls: SharedCalls[str] = SharedCalls()
        answers = [ValueError("no"), "yes"]

        async def call() -> str:
            await asyncio.sleep(0)
            answer = answers.pop(0)
            if isinstance(answer, ValueError):
                raise answer
            return answer

        found = await asyncio.gather(*(calls.ask("a", call) for _ in range(2)), return_exceptions=True)
        assert [type(one) for one in found] == [ValueError, ValueError]
        assert await calls.ask("a", call) == "yes"

    asyncio.run(run())


def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from nilometer.errors import NilometerError
    from nilometer.server import guard
    from nilometer.server.callers import Bodies, Callers

    monkeypatch.setattr(guard, "BODY_SECONDS", 0.0)

    async def run() -> None:
        async def never() -> dict[str, object]:
            await asyncio.Event().wait()
            return {}

        body = guard._Bounded(never, Bodies(lambda: 100), guard._Arriving(), Callers(), ("", 0))
        for _ in range(2):  # and whoever asks again is told again
            with pytest.raises(NilometerError, match="did not arrive within 0 seconds"):
                await body()
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling()

    asyncio.run(run())
