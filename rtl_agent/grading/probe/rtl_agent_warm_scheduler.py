"""cocotb 2.0.1's inner loop without what it only does while it is debugged.

Most of the CPU of a long simulation is cocotb's own Python: two changes of a clock go through some forty calls and six
switches of tasks. These functions do what theirs do, in the same order, with fewer calls; what is not the ordinary case
goes to the original. Two internal tasks are moved from trigger to trigger without being resumed: the one that asks for
a ReadWrite phase when something was written, and a clock's. On a clocked register this takes two thirds off a
simulation. Only warm simulators have it: the exact path runs cocotb as it is, and every test that holds the two paths
against each other holds this against the original.
"""

import threading

import rtl_agent_warm_handles


def install():
    """False where this is not the cocotb that was measured and compared, or one that is debugged."""
    import cocotb

    if getattr(cocotb, "__version__", "") != "2.0.1":
        return False
    from cocotb import debug, handle
    from cocotb.types import _indexing, _resolve

    unusual = debug.debug or handle._trust_inertial or _indexing.do_indexing_changed_warning
    if unusual or _resolve.RESOLVE_X is not None:
        return False
    park_writer, schedule_write = _quicken_writes()
    _quicken_scheduler(park_writer)
    _quicken_triggers()
    rtl_agent_warm_handles.quicken(schedule_write)
    _quicken_clocks(schedule_write)
    return True


def _quicken_writes():
    """Writes wait for the next ReadWrite phase, which a task of cocotb's asks for: it is woken by an event, awaits the
    phase, and awaits the event again. Here it is entered into the lists of those who wait, and does not run."""
    import cocotb
    from cocotb import _gpi_triggers, _scheduler, handle

    read_write, read_write_kind = _scheduler.Scheduler._read_write, _gpi_triggers.ReadWrite
    deposit = handle._GPISetAction.DEPOSIT
    number = deposit.value
    calls, writes_pending = handle._write_calls, handle._writes_pending
    event = writes_pending._event

    def apply_scheduled_writes():
        for write, value in calls.values():
            write(number, value)
        calls.clear()
        writes_pending._fired = False

    def schedule_write(target, write, action, value):
        if action is not deposit or isinstance(_gpi_triggers._current_gpi_trigger, read_write_kind):
            write(action.value, value)
            return
        key = target._handle  # as handles are compared and hashed
        if key in calls:
            del calls[key]
        calls[key] = (write, value)
        if not writes_pending._fired:
            ask_for_phase()

    def ask_for_phase():
        writer, scheduler = handle._write_task, cocotb._scheduler_inst
        if writer is None or writer._trigger is not event:
            writes_pending.set()
            return
        writes_pending._fired = True
        waiting = scheduler._trigger2tasks
        tasks = waiting.pop(event)
        event._primed = False
        writer._trigger = read_write
        others = waiting.get(read_write)
        if others is None:
            waiting[read_write] = tasks
        else:
            others.append(writer)
        read_write._prime(scheduler._sim_react)

    def park_writer(scheduler, tasks):
        """Whether all that waited for this phase was the task that asks for it; else it is taken off the list."""
        writer = handle._write_task
        if writer is None or writer not in tasks or writes_pending._fired:
            return False
        alone = len(tasks) == 1
        if not alone:
            tasks.remove(writer)
        writer._trigger = event
        event._callback = scheduler._react
        event._primed = True
        scheduler._trigger2tasks[event] = tasks if alone else [writer]
        return alone

    handle._apply_scheduled_writes, handle._schedule_write = apply_scheduled_writes, schedule_write
    return park_writer, schedule_write


def _quicken_scheduler(park_writer):
    from cocotb import _gpi_triggers, _scheduler, handle
    from cocotb._base_triggers import Trigger
    from cocotb.task import _TaskState

    scheduler = _scheduler.Scheduler
    gpi_trigger, read_write = _gpi_triggers.GPITrigger, scheduler._read_write
    pending, scheduled, running = _TaskState.PENDING, _TaskState.SCHEDULED, _TaskState.RUNNING
    original_react, original_resume = scheduler._react, scheduler._resume_task
    apply_scheduled_writes = handle._apply_scheduled_writes
    gpi_trigger._clock_step = None  # a clock's timers have one

    def sim_react(self, trigger):
        _gpi_triggers._current_gpi_trigger = trigger
        if trigger is read_write:
            apply_scheduled_writes()
        tasks = self._trigger2tasks.pop(trigger, None)
        if tasks is None:
            original_react(self, trigger)  # which warns
            self._event_loop()
            return
        trigger._cleanup()
        if trigger is read_write and park_writer(self, tasks) and not self._scheduled_tasks:
            return
        if len(tasks) == 1 and not self._scheduled_tasks:
            if trigger._clock_step is not None and not self._pending_threads:
                trigger._clock_step(self, tasks)
            else:
                task = tasks[0]
                task._trigger = None
                resume_task(self, task, None)
                del task, tasks
        else:
            queue = self._scheduled_tasks
            for task in tasks:
                task._trigger = None
                task._state = scheduled
                queue[task] = None
        if self._scheduled_tasks or self._pending_events:
            event_loop(self)

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
        queue, events = self._scheduled_tasks, self._pending_events
        while True:
            while events:
                events.pop(0).set()
            if not queue:
                return
            task, error = queue.popitem(last=False)
            resume_task(self, task, error)
            del task

    def resume_task(self, task, error):
        if error is not None or task._must_cancel or self._current_task is not None or self._pending_threads:
            original_resume(self, task, error)
            return
        try:
            self._current_task = task
            task._state = running
            try:
                trigger = task._coro.send(None)
            except BaseException as ended:
                _finish(task, ended)
                self._unschedule(task)
            else:
                if isinstance(trigger, Trigger):
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
        tasks = self._trigger2tasks.get(trigger)
        if tasks is None:
            self._trigger2tasks[trigger] = [task]
        else:
            tasks.append(task)
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


def _finish(task, ended):
    """A task that returned or raised: the end of Task._advance, for one that nobody has cancelled."""
    from asyncio import CancelledError
    from bdb import BdbQuit

    from cocotb._outcomes import Error, Value
    from cocotb._utils import remove_traceback_frames
    from cocotb.task import _TaskState

    if isinstance(ended, StopIteration):
        task._set_outcome(Value(ended.value))
        return
    error = Error(remove_traceback_frames(ended, ["resume_task"]))
    if isinstance(ended, CancelledError):
        task._set_outcome(error, _TaskState.CANCELLED)
        return
    task._set_outcome(error)
    if isinstance(ended, (KeyboardInterrupt, SystemExit, BdbQuit)):
        raise ended


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

    read_only = _gpi_triggers.ReadOnly
    original_prime = _gpi_triggers.ReadWrite._prime

    def prime_read_write(self, callback):
        if self._cbhdl is not None or isinstance(_gpi_triggers._current_gpi_trigger, read_only):
            original_prime(self, callback)
            return
        self._cbhdl = simulator.register_rwsynch_callback(callback, self)
        if self._cbhdl is None:
            raise RuntimeError(f"Unable set up {self!s} Trigger")
        self._primed = True

    _gpi_triggers.GPITrigger._cleanup = cleanup
    _gpi_triggers.Timer._prime = prime_timer
    _gpi_triggers._EdgeBase._prime = prime_edge
    _gpi_triggers.ReadWrite._prime = prime_read_write


def _quicken_clocks(schedule_write):
    """A clock in Python is a task that writes, and awaits a timer, in turn. Here its timers do that when they fire."""
    import cocotb
    from cocotb import handle
    from cocotb.clock import Clock
    from cocotb.triggers import Timer

    deposit = handle._GPISetAction.DEPOSIT
    original_start = Clock.start

    def start(self, start_high=True):
        signal = self._signal
        ordinary = self._impl == "py" and self._set_action is handle.Deposit and type(signal) is handle.LogicObject
        if self._task is not None or not ordinary:
            return original_start(self, start_high)

        async def drive():
            high, low = Timer(self._period_high_steps), Timer(self._period_steps - self._period_high_steps)
            high._clock_step, low._clock_step = step("0", low), step("1", high)
            signal.set(handle.Deposit(1 if start_high else 0))
            await (high if start_high else low)
            raise AssertionError("the timers of a clock wake nobody")

        def step(value, following):
            write = signal._handle.set_signal_val_binstr

            def take_step(scheduler, tasks):
                schedule_write(signal, write, deposit, value)
                tasks[0]._trigger = following
                scheduler._trigger2tasks[following] = tasks
                following._prime(scheduler._sim_react)

            return take_step

        drive.__qualname__ = "Clock.start.<locals>.drive"
        self._task = cocotb.start_soon(drive())
        return self._task

    Clock.start = start
