"""cocotb 2.0.1's inner loop without what it only does while it is debugged.

Most of the CPU of a long simulation is cocotb's own Python: two changes of a clock go through some forty calls. These
functions do what theirs do, in the same order, with fewer calls; what is not the ordinary case goes to the original.
On a clocked register they take a third off a simulation. Only warm simulators have them: the exact path runs cocotb as
it is, and every test that holds the two paths against each other holds this against the original.
"""

import threading


def install():
    """False where this is not the cocotb that was measured and compared, or one that is debugged."""
    import cocotb

    if getattr(cocotb, "__version__", "") != "2.0.1":
        return False
    from cocotb import debug, handle

    if debug.debug or handle._trust_inertial:
        return False
    _quicken_scheduler()
    _quicken_triggers()
    _quicken_handles()
    return True


def _quicken_scheduler():
    from cocotb import _gpi_triggers, _scheduler, handle
    from cocotb._base_triggers import Trigger
    from cocotb.task import _TaskState

    scheduler = _scheduler.Scheduler
    gpi_trigger, read_write = _gpi_triggers.GPITrigger, scheduler._read_write
    pending, scheduled = _TaskState.PENDING, _TaskState.SCHEDULED
    ended = (_TaskState.FINISHED, _TaskState.CANCELLED)
    original_react, original_resume = scheduler._react, scheduler._resume_task

    def sim_react(self, trigger):
        _gpi_triggers._current_gpi_trigger = trigger
        if trigger is read_write:
            handle._apply_scheduled_writes()
        self._react(trigger)
        self._event_loop()

    def react(self, trigger):
        tasks = self._trigger2tasks.pop(trigger, None)
        if tasks is None:
            if isinstance(trigger, gpi_trigger):
                original_react(self, trigger)  # which warns
            return
        queue = self._scheduled_tasks
        for task in tasks:
            task._trigger = None
            task._state = scheduled
            queue[task] = None
        trigger._cleanup()

    def event_loop(self):
        queue = self._scheduled_tasks
        while queue:
            task, error = queue.popitem(last=False)
            self._resume_task(task, error)
            del task
            while self._pending_events:
                self._pending_events.pop(0).set()

    def resume_task(self, task, error):
        if self._current_task is not None or self._pending_threads:
            original_resume(self, task, error)
            return
        try:
            self._current_task = task
            trigger = task._advance(error)
            if task._state in ended:
                assert trigger is None
                self._unschedule(task)
            elif isinstance(trigger, Trigger):
                wait(self, task, trigger)
            else:
                error = TypeError(
                    f"Coroutine yielded an object of type {type(trigger)}, which the scheduler can't "
                    f"handle: {trigger!r}\n"
                )
                self._schedule_task_internal(task, error)
            if self._pending_threads and self._main_thread is threading.current_thread():
                run_threads(self)
        finally:
            self._current_task = None

    def wait(self, task, trigger):
        task._trigger = trigger
        task._state = pending
        self._trigger2tasks.setdefault(trigger, []).append(task)
        try:
            trigger._prime(self._sim_react if isinstance(trigger, gpi_trigger) else self._react)
        except Exception as error:
            self._trigger2tasks.pop(trigger)
            self._schedule_task_internal(task, error)

    def run_threads(self):
        for thread in self._pending_threads:
            thread.thread_start()
            if thread.thread_wait() == _scheduler.external_state.EXITED:
                self._pending_threads.remove(thread)
                self._pending_events.append(thread.event)

    scheduler._sim_react, scheduler._react, scheduler._event_loop = sim_react, react, event_loop
    scheduler._resume_task = resume_task


def _quicken_triggers():
    from cocotb import _gpi_triggers, simulator

    def cleanup(self):
        self._cbhdl = None
        self._primed = False

    def prime_timer(self, callback):
        if self._cbhdl is None:
            self._cbhdl = simulator.register_timed_callback(self._sim_steps, callback, self)
            if self._cbhdl is None:
                raise RuntimeError(f"Unable set up {self!s} Trigger")
        self._primed = True

    def prime_edge(self, callback):
        if self._cbhdl is None:
            self._cbhdl = simulator.register_value_change_callback(
                self.signal._handle, callback, type(self)._edge_type, self
            )
            if self._cbhdl is None:
                raise RuntimeError(f"Unable set up {self!s} Trigger")
        self._primed = True

    _gpi_triggers.GPITrigger._cleanup = cleanup
    _gpi_triggers.Timer._prime = prime_timer
    _gpi_triggers._EdgeBase._prime = prime_edge


def _quicken_handles():
    from cocotb import _gpi_triggers, handle

    deposit, written = handle._GPISetAction.DEPOSIT, handle.Deposit
    number_of = {action: action.value for action in handle._GPISetAction}
    read_only, read_write = _gpi_triggers.ReadOnly, _gpi_triggers.ReadWrite
    calls, writes_pending = handle._write_calls, handle._writes_pending
    base, bit, scope = handle.ValueObjectBase, handle.LogicObject, handle.HierarchyObject
    original_set, original_set_bit, original_child = base.set, bit._set_value, scope.__getattr__

    def apply_scheduled_writes():
        for write, action, value in calls.values():
            write(number_of[action], value)
        calls.clear()
        writes_pending.clear()

    def schedule_write(target, write, action, value):
        if action is not deposit or isinstance(_gpi_triggers._current_gpi_trigger, read_write):
            write(number_of[action], value)
            return
        calls.pop(target, None)
        calls[target] = (write, action, value)
        writes_pending.set()

    def set_value(self, value):
        kind = type(value)
        if (kind is not int and kind is not written) or self.is_const:
            original_set(self, value)
        elif isinstance(_gpi_triggers._current_gpi_trigger, read_only):
            original_set(self, value)  # which raises
        else:
            self._set_value(value if kind is int else value.value, deposit)

    def set_bit(self, value, action):
        if type(value) is int and 0 <= value <= 1:
            schedule_write(self, self._handle.set_signal_val_binstr, action, "1" if value else "0")
        else:
            original_set_bit(self, value, action)

    def child(self, name):
        if not name.startswith("_"):
            found = self._sub_handles.get(name)
            if found is not None:
                return found
        return original_child(self, name)

    handle._apply_scheduled_writes, handle._schedule_write = apply_scheduled_writes, schedule_write
    base.set, bit._set_value, scope.__getattr__ = set_value, set_bit, child
