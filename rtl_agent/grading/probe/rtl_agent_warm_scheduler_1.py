"""cocotb 1.9.2's inner loop without what it only does while it is debugged or profiled.

The same steps in the same order as its Scheduler, with fewer calls: no context managers, no abstract base classes asked
for what a trigger is, no thread looked up where none waits. See rtl_agent_warm_scheduler.py, which is for 2.0.1.
"""

import importlib
import threading


def install():
    """False where this is not the cocotb that was measured and compared, or one that is debugged."""
    import cocotb

    if getattr(cocotb, "__version__", "") != "1.9.2":
        return False
    module = importlib.import_module("cocotb.scheduler")  # the package has an object of that name
    if module._debug or module._profiling:
        return False
    _quicken(module)
    return True


def _quicken(module):
    from cocotb import outcomes
    from cocotb.triggers import GPITrigger, NullTrigger, Trigger

    scheduler = module.Scheduler
    normal, read_only_mode, ending = scheduler._MODE_NORMAL, scheduler._MODE_READONLY, scheduler._MODE_TERM
    read_only = scheduler._read_only
    kinds = {}  # class -> (is a trigger, is one of the simulator's)

    def kind_of(thing):
        kind = type(thing)
        found = kinds.get(kind)
        if found is None:
            found = kinds[kind] = (isinstance(thing, Trigger), isinstance(thing, GPITrigger))
        return found

    def event_loop(self, trigger):
        if self._mode == ending:
            return
        if trigger is read_only:
            self._mode = read_only_mode
        elif kind_of(trigger)[1]:
            self._mode = normal
        waiting_triggers = self._pending_triggers
        is_first = True
        waiting_triggers.append(trigger)
        while waiting_triggers:
            trigger = waiting_triggers.pop(0)
            if not is_first and kind_of(trigger)[1]:
                self.log.warning("A GPI trigger occurred after entering react - this should not happen.")
                raise AssertionError
            is_first = False
            tasks = self._trigger2coros.pop(trigger, None)
            if tasks is None:
                if kind_of(trigger)[1]:
                    self.log.critical(f"No coroutines waiting on trigger that fired: {trigger}")
                    trigger.log.info("I'm the culprit")
                del trigger
                continue
            self._scheduling = tasks
            trigger.unprime()
            for task in tasks:
                if task._outcome is None:
                    schedule(self, task, trigger)
                del task
            self._scheduling = tasks = []
            while self._pending_coros:
                schedule(self, self._pending_coros.pop(0))
            while self._pending_events:
                self._pending_events.pop(0).set()
            del trigger
        self._check_termination()

    def schedule(self, task, trigger=None):
        before = self._current_task
        self._current_task = task
        try:
            sent = outcomes.Value(None) if trigger is None else trigger._outcome
            task._trigger = None
            result = task._advance(sent)
            done = task.done()
            if done:
                assert result is None
                self._unschedule(task)
            if self._terminate:
                return
            if not done:
                if not kind_of(result)[0]:
                    try:
                        result = self._trigger_from_any(result)
                    except TypeError as error:
                        result = NullTrigger(_outcome=outcomes.Error(error))
                resume_upon(self, task, result)
            if self._pending_threads and self._main_thread is threading.current_thread():
                run_threads(self)
        finally:
            self._current_task = before

    original_resume_upon = scheduler._resume_coro_upon

    def resume_upon(self, task, trigger):
        if trigger in self._trigger2coros or trigger.primed:
            original_resume_upon(self, task, trigger)
            return
        task._trigger = trigger
        self._trigger2coros[trigger] = [task]
        try:
            trigger.prime(self._react)
        except Exception as error:
            self._trigger2coros.pop(trigger)
            failed = NullTrigger(name="Trigger.prime() Error", _outcome=outcomes.Error(error))
            original_resume_upon(self, task, failed)

    def run_threads(self):
        for thread in self._pending_threads:
            thread.thread_start()
            if thread.thread_wait() == module.external_state.EXITED:
                self._pending_threads.remove(thread)
                self._pending_events.append(thread.event)

    scheduler._event_loop, scheduler._schedule, scheduler._resume_coro_upon = event_loop, schedule, resume_upon
