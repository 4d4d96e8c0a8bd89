/*
 * Keeps a simulator warm. vvp loads this module after cocotb's, which has started Python by then, and before it opens a
 * design. Control goes to Python (rtl_agent_warm_simulator.serve), which waits for jobs and forks a process for each. In
 * that process serve() returns, so does this function, and vvp goes on to read the design that the job has put in place.
 *
 * Python's library is the one that cocotb loaded, whatever its version: it is looked up, not linked.
 *
 * The simulation ends as it would in a cold simulator: the rest of its time step and its final blocks run, and vvp's exit
 * code is its own. Only Python is not taken down, which took 20 ms, unless tests have left it something to do: this file
 * is preloaded, so Py_Finalize is the one below, and the process leaves before the destructors of its libraries.
 *
 * vvp was started with the name of a design that is not there. fopen, preloaded too, opens the job's in its place, so
 * that a design finds no file that a cold simulation has not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vpi_user.h>

static int orderly; /* the tests left something that only Python's own end does */

void rtl_agent_end_orderly(void)
{
    orderly = 1;
}

void Py_Finalize(void)
{
    int (*finalize)(void) = orderly ? (int (*)(void))dlsym(RTLD_DEFAULT, "Py_FinalizeEx") : NULL;
    if (finalize)
        finalize();
}

static char *design; /* of the job, until vvp has opened it */

void rtl_agent_open_instead(const char *path)
{
    design = strdup(path);
}

FILE *fopen(const char *path, const char *mode)
{
    static FILE *(*open_file)(const char *, const char *);
    if (!open_file)
        open_file = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
    if (!design || strcmp(path, "warm.vvp") != 0)
        return open_file(path, mode);
    FILE *found = open_file(design, mode);
    free(design);
    design = NULL;
    return found;
}

static void leave(int status, void *nothing)
{
    (void)nothing;
    fflush(NULL);
    _exit(status);
}

static void *find(const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (!symbol) {
        fprintf(stderr, "warm_start: %s is not there: cocotb's module must be loaded first\n", name);
        exit(70);
    }
    return symbol;
}

static void wait_for_a_job(void)
{
    int (*take_lock)(void) = (int (*)(void))find("PyGILState_Ensure");
    void (*give_lock)(int) = (void (*)(int))find("PyGILState_Release");
    int (*run)(const char *, void *) = (int (*)(const char *, void *))find("PyRun_SimpleStringFlags");

    int state = take_lock();
    if (run("import rtl_agent_warm_simulator as warm; warm.serve()", NULL) != 0)
        exit(70);
    give_lock(state);
    on_exit(leave, NULL); /* registered last, so called first */
}

void (*vlog_startup_routines[])(void) = {wait_for_a_job, 0};
