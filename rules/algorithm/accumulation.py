"""Steps of a recurrence that only add to their state: the terms are independent, and one pass adds them all up."""

from __future__ import annotations

from kernlint.rules.algorithm.step_loops import StateLoop
from kernlint.rules.proofs.dependence import SUM, Dependence


def only_adds(found: StateLoop) -> bool:
    """Whether each step of ``found`` stores the state that it loaded with something added that does not depend on it, and
    stores nothing else, whatever the step."""
    kernel = found.launch.kernel
    values, stores = kernel.values, kernel.stores()
    if values is None or not found.elementwise or len(found.states) != 1 or len(stores) != 1:
        return False
    (state,) = found.states
    load, store = values.at_node(state.load.id), values.at_node(stores[0].id)
    if load is None or store is None or stores[0] is not state.store or store.region.parent is not None:
        return False
    stored = values.argument(store, "value")
    # A conversion may stand anywhere: of rounding on the way the loop has more than one pass.
    reached = values.reached((load,))
    return stored is not None and Dependence(values, (load,), reached, rounded=True).of(stored) == {load.id: SUM}
