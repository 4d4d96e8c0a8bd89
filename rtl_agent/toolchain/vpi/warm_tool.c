/*
 * Keeps a program warm: preloaded into Icarus' preprocessor and its compiler, which are held before their main function,
 * with all libraries loaded and linked, and fork a process for each command. Without it these are started anew for each
 * design, and linking them takes as long as compiling a small one.
 *
 * A request comes over a SEQPACKET socket (RTL_AGENT_WARM_FD) with three descriptors, the command's input, output and
 * errors: `struct request`, then its directory, its words and its variables, each ended by NUL. The answer says how the
 * process ended. Any other packet is a `sync`: what still runs is ended, and the answer says how much CPU was used by
 * all of them so far. rtl_agent_warm_icarus.py is the other side.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_BYTES (1 << 18)
#define DESCRIPTORS 3

struct request {
    uint32_t words, variables, mask, limits;
    uint64_t limit[RLIM_NLIMITS][2];
};

struct answer {
    int32_t status; /* as wait has it; -1 for a sync */
    int32_t unused;
    double cpu_seconds; /* of all that have ended */
};

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

extern char **environ;
static main_function *program;
static char buffer[MOST_BYTES + 1];

static ssize_t receive(int link, int *descriptors)
{
    char room[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
    struct iovec data = {buffer, MOST_BYTES};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    ssize_t size;
    do
        size = recvmsg(link, &message, 0);
    while (size < 0 && errno == EINTR);
    struct cmsghdr *extra = size > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    for (int i = 0; i < DESCRIPTORS; i++)
        descriptors[i] = -1;
    if (extra && extra->cmsg_type == SCM_RIGHTS && extra->cmsg_len == CMSG_LEN(DESCRIPTORS * sizeof(int)))
        memcpy(descriptors, CMSG_DATA(extra), DESCRIPTORS * sizeof(int));
    if (size > 0)
        buffer[size] = 0;
    return size;
}

static void answer(int link, int status)
{
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    struct answer said = {.status = status};
    said.cpu_seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec;
    said.cpu_seconds += (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    send(link, &said, sizeof said, MSG_NOSIGNAL);
}

/* Until the process ends, or somebody speaks, who wants it ended. */
static void wait_for(pid_t child, int link)
{
    int descriptors[DESCRIPTORS], status = 0;
    struct pollfd ends[] = {{(int)syscall(SYS_pidfd_open, child, 0), POLLIN, 0}, {link, POLLIN, 0}};
    while (poll(ends, 2, -1) < 0 && errno == EINTR)
        ;
    close(ends[0].fd);
    int asked = !ends[0].revents;
    if (asked)
        kill(child, SIGKILL);
    waitpid(child, &status, 0);
    if (asked && receive(link, descriptors) <= 0)
        _exit(0);
    answer(link, asked ? -1 : status);
}

/* The process becomes the one that was asked for; its words, or NULL where it cannot. */
static char **become(ssize_t size, const int *descriptors)
{
    struct request request;
    memcpy(&request, buffer, sizeof request);
    char *next = buffer + sizeof request, *end = buffer + size;
    char **all = calloc((size_t)request.words + request.variables + 2, sizeof *all);
    char *directory = next;
    for (uint32_t i = 0; all && i < request.words + request.variables; i++) {
        next += strlen(next) + 1;
        if (next >= end)
            return NULL;
        all[i < request.words ? i : i + 1] = next;
    }
    setsid();
    for (int i = 0; i < DESCRIPTORS; i++)
        if (dup2(descriptors[i], i) < 0)
            return NULL;
    for (int i = 0; i < DESCRIPTORS; i++)
        if (descriptors[i] >= DESCRIPTORS)
            close(descriptors[i]);
    for (uint32_t i = 0; i < request.limits && i < RLIM_NLIMITS; i++) {
        struct rlimit limit = {request.limit[i][0], request.limit[i][1]};
        if (setrlimit(i, &limit))
            return NULL;
    }
    umask(request.mask);
    if (!all || chdir(directory))
        return NULL;
    environ = all + request.words + 1;
    return all;
}

static int serve(int count, char **words, char **variables)
{
    (void)count, (void)words, (void)variables;
    int descriptors[DESCRIPTORS], link = atoi(getenv("RTL_AGENT_WARM_FD"));
    for (char *library = strtok(getenv("RTL_AGENT_WARM_LIBRARIES"), ":"); library; library = strtok(NULL, ":"))
        dlopen(library, RTLD_LAZY); /* which it will ask for; each takes longer to link than to use */
    answer(link, -1);
    ssize_t size;
    while ((size = receive(link, descriptors)) > 0) {
        if ((size_t)size < sizeof(struct request)) {
            answer(link, -1);
            continue;
        }
        pid_t child = fork();
        if (child == 0) {
            close(link);
            char **given = become(size, descriptors);
            if (!given)
                _exit(127);
            int length = 0;
            while (given[length])
                length++;
            return program(length, given, environ);
        }
        for (int i = 0; i < DESCRIPTORS; i++)
            close(descriptors[i]);
        if (child < 0)
            answer(link, 127 << 8);
        else
            wait_for(child, link);
    }
    _exit(0);
}

/* Every program of this C library begins here. */
int __libc_start_main(main_function *main, int count, char **words, void (*init)(void), void (*fini)(void),
                      void (*linker_fini)(void), void *stack_end)
{
    start_function *start = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
    program = main;
    main_function *chosen = getenv("RTL_AGENT_WARM_FD") ? serve : main;
    return start(chosen, count, words, init, fini, linker_fini, stack_end);
}
