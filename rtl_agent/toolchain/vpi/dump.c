/*
 * Writes the waves of a simulation as VCD, to a file that was opened before the design was: its descriptor comes in
 * RTL_AGENT_DUMP_FD, and the design has no name for it. $dumpfile, $dumpoff, $dumplimit and their kin are Icarus' own
 * and do not reach it, and nothing is added to the design, so that it is simulated as it was for the grade.
 *
 * What is written is bounded: bytes, signals, scopes, depth, width and length of names. What was left out is said in a
 * comment that begins with "rtl-agent"; so are the ports of the top module, of which VCD itself knows nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vpi_user.h>

enum { MOST_SIGNALS = 20000, MOST_SCOPES = 4000, MOST_DEPTH = 64, MOST_BITS = 65536, MOST_LETTERS = 200 };

typedef struct signal {
    vpiHandle item;
    struct signal *next; /* of those that have changed in this time step */
    int changed, real, bits;
    char id[8];
} Signal;

typedef struct {
    vpiHandle item;
    int kind, depth, first, last;               /* signals */
    int first_child, last_child;                /* scopes: children lie side by side */
} Scope;

static Signal signals[MOST_SIGNALS];
static Scope scopes[MOST_SCOPES];
static int signal_count, scope_count;
static int too_many_signals, too_many_scopes, too_many_bits;
static FILE *out;
static unsigned long long written, most, from;
static Signal *changed;
static int waiting, begun, full;

static void stop(void)
{
    full = 1;
    fflush(out);
}

static void count(int length)
{
    if (length < 0 || ferror(out))
        stop();
    else
        written += length;
    if (!full && most && written > most) {
        fputs("$comment rtl-agent cut at its largest size $end\n", out);
        stop();
    }
}

static const char *name_of(vpiHandle item)
{
    static char name[MOST_LETTERS + 2];
    const char *found = vpi_get_str(vpiName, item);
    int length = 0, plain = 1;
    if (!found || !*found)
        found = "unnamed";
    name[length++] = '\\';
    for (; *found && length <= MOST_LETTERS; found++) {
        int letter = (*found >= 'a' && *found <= 'z') || (*found >= 'A' && *found <= 'Z') || *found == '_';
        int digit = *found >= '0' && *found <= '9';
        if (!letter && !((digit || *found == '$' || *found == '[' || *found == ']') && length > 1))
            plain = 0;
        name[length++] = *found > ' ' && *found < 127 ? *found : '?';
    }
    name[length] = 0;
    return plain ? name + 1 : name; /* a backslash, as Icarus writes it, keeps a name from being a keyword of VCD */
}

static void add_signals(Scope *scope)
{
    static const int kinds[] = {vpiNet, vpiReg, vpiVariables};
    scope->first = signal_count;
    for (int kind = 0; kind < 3; kind++) {
        vpiHandle all = vpi_iterate(kinds[kind], scope->item), item;
        while (all && (item = vpi_scan(all))) {
            int type = vpi_get(vpiType, item), bits = vpi_get(vpiSize, item);
            if (type == vpiNamedEvent || type == vpiMemory || type == vpiNetArray || vpi_get(vpiAutomatic, item))
                continue;
            if (type != vpiRealVar && (bits < 1 || bits > MOST_BITS)) {
                too_many_bits |= bits > 0;
                continue;
            }
            if (signal_count == MOST_SIGNALS) {
                too_many_signals = 1;
                vpi_free_object(all);
                break;
            }
            Signal *found = &signals[signal_count];
            found->item = item;
            found->real = type == vpiRealVar;
            found->bits = found->real ? 64 : bits;
            int number = signal_count++, at = 0;
            do
                found->id[at++] = '!' + number % 94;
            while (number /= 94);
        }
    }
    scope->last = signal_count;
}

static void add_scope(vpiHandle item, int depth)
{
    if (depth > MOST_DEPTH || scope_count == MOST_SCOPES) {
        too_many_scopes = 1;
        return;
    }
    Scope *scope = &scopes[scope_count++];
    scope->item = item;
    scope->kind = vpi_get(vpiType, item);
    scope->depth = depth;
}

static void add_children(int number)
{
    vpiHandle all = vpi_iterate(vpiInternalScope, scopes[number].item), item;
    scopes[number].first_child = scope_count;
    while (all && (item = vpi_scan(all))) {
        int kind = vpi_get(vpiType, item);
        if (kind == vpiTask || kind == vpiFunction)
            continue;
        if (scope_count == MOST_SCOPES) {
            too_many_scopes = 1;
            vpi_free_object(all);
            break;
        }
        add_scope(item, scopes[number].depth + 1);
    }
    scopes[number].last_child = scope_count;
}

static void write_scope(const Scope *scope)
{
    const char *kind = scope->kind == vpiModule ? "module" : scope->kind == vpiNamedFork ? "fork" : "begin";
    count(fprintf(out, "$scope %s %s $end\n", kind, name_of(scope->item)));
    for (int at = scope->first; at < scope->last && !full; at++) {
        Signal *one = &signals[at];
        const char *type = one->real ? "real" : vpi_get(vpiType, one->item) == vpiNet ? "wire" : "reg";
        count(fprintf(out, "$var %s %d %s %s", type, one->bits, one->id, name_of(one->item)));
        if (!one->real && one->bits > 1)
            count(fprintf(out, " [%d:%d]", vpi_get(vpiLeftRange, one->item), vpi_get(vpiRightRange, one->item)));
        count(fprintf(out, " $end\n"));
    }
    for (int child = scope->first_child; child < scope->last_child && !full; child++)
        write_scope(&scopes[child]);
    count(fprintf(out, "$upscope $end\n"));
}

static void write_ports(vpiHandle top)
{
    vpiHandle all = vpi_iterate(vpiPort, top), port;
    while (all && (port = vpi_scan(all))) {
        int way = vpi_get(vpiDirection, port);
        const char *word = way == vpiInput ? "input" : way == vpiOutput ? "output" : "inout";
        count(fprintf(out, "$comment rtl-agent port %s %s $end\n", word, name_of(port)));
    }
}

static void write_header(void)
{
    int precision = vpi_get(vpiTimePrecision, NULL), step = precision < -15 ? -15 : precision > 2 ? 2 : precision;
    static const char *units[] = {"fs", "ps", "ns", "us", "ms", "s"};
    static const int factors[] = {1, 10, 100};
    count(fprintf(out, "$timescale %d%s $end\n", factors[(step + 15) % 3], units[(step + 15) / 3]));
    if (scope_count)
        write_ports(scopes[0].item);
    for (int at = 0; at < scope_count && scopes[at].depth == 0 && !full; at++)
        write_scope(&scopes[at]);
    const char *left_out[] = {too_many_signals ? "signals" : "", too_many_scopes ? "scopes" : "", too_many_bits ? "bits" : ""};
    for (int at = 0; at < 3; at++)
        if (*left_out[at])
            count(fprintf(out, "$comment rtl-agent left out %s $end\n", left_out[at]));
    count(fprintf(out, "$enddefinitions $end\n"));
}

static void write_value(const Signal *one)
{
    s_vpi_value value;
    value.format = one->real ? vpiRealVal : vpiBinStrVal;
    vpi_get_value(one->item, &value);
    if (one->real) {
        count(fprintf(out, "r%.16g %s\n", value.value.real, one->id));
    } else if (one->bits == 1) {
        count(fprintf(out, "%c%s\n", value.value.str[0], one->id));
    } else {
        const char *bits = value.value.str; /* VCD leaves leading zeros out */
        while (bits[0] == '0' && (bits[1] == '0' || bits[1] == '1'))
            bits++;
        count(fprintf(out, "b%s %s\n", bits, one->id));
    }
}

static PLI_INT32 at_end_of_step(p_cb_data cause)
{
    (void)cause;
    s_vpi_time now = {.type = vpiSimTime};
    vpi_get_time(NULL, &now);
    unsigned long long time = (unsigned long long)now.high << 32 | now.low;
    waiting = 0;
    if (full)
        return 0;
    int all = !begun && time >= from;
    if (begun || all)
        count(fprintf(out, "#%llu\n", time));
    for (int at = 0; all && at < signal_count && !full; at++)
        write_value(&signals[at]);
    for (; changed; changed = changed->next) {
        changed->changed = 0;
        if (begun && !full)
            write_value(changed);
    }
    begun = begun || all;
    if (!full)
        fflush(out); /* a simulation that does not end is killed */
    return 0;
}

static void wait_for_end_of_step(void)
{
    s_vpi_time none = {.type = vpiSimTime};
    s_cb_data end = {.reason = cbReadOnlySynch, .cb_rtn = at_end_of_step, .time = &none};
    waiting = 1;
    vpi_register_cb(&end);
}

static PLI_INT32 at_change(p_cb_data cause)
{
    Signal *one = (Signal *)cause->user_data;
    if (full || one->changed)
        return 0;
    one->changed = 1;
    one->next = changed;
    changed = one;
    if (!waiting)
        wait_for_end_of_step();
    return 0;
}

static PLI_INT32 at_start(p_cb_data cause)
{
    (void)cause;
    const char *top = getenv("COCOTB_TOPLEVEL");
    if (!top || !*top)
        top = getenv("TOPLEVEL");
    for (int others = 0; others < 2; others++) { /* the top first: what is too much is left out at the end */
        vpiHandle all = vpi_iterate(vpiModule, NULL), item;
        while (all && (item = vpi_scan(all))) {
            const char *name = vpi_get_str(vpiName, item);
            if ((top && name && strcmp(name, top) == 0) == !others)
                add_scope(item, 0);
        }
    }
    for (int at = 0; at < scope_count; at++) {
        add_signals(&scopes[at]);
        add_children(at);
    }
    write_header();
    for (int at = 0; at < signal_count; at++) {
        s_vpi_time none = {.type = vpiSuppressTime};
        s_cb_data change = {.reason = cbValueChange, .cb_rtn = at_change, .obj = signals[at].item, .time = &none};
        change.user_data = (char *)&signals[at];
        vpi_register_cb(&change);
    }
    wait_for_end_of_step();
    return 0;
}

static PLI_INT32 at_end(p_cb_data cause)
{
    (void)cause;
    s_vpi_time now = {.type = vpiSimTime};
    vpi_get_time(NULL, &now);
    if (!full) {
        fprintf(out, "#%llu\n$comment rtl-agent end $end\n", (unsigned long long)now.high << 32 | now.low);
        stop();
    }
    return 0;
}

static unsigned long long ticks(const char *name)
{
    const char *text = getenv(name); /* nanoseconds */
    double time = text ? strtod(text, NULL) : 0;
    for (int step = -9; step > vpi_get(vpiTimePrecision, NULL); step--)
        time *= 10;
    for (int step = -9; step < vpi_get(vpiTimePrecision, NULL); step++)
        time /= 10;
    return time > 0 && time < 1e19 ? (unsigned long long)time : 0;
}

static PLI_INT32 at_end_of_compile(p_cb_data cause)
{
    (void)cause;
    from = ticks("RTL_AGENT_DUMP_FROM");
    return 0;
}

static void begin(void)
{
    const char *descriptor = getenv("RTL_AGENT_DUMP_FD"), *bytes = getenv("RTL_AGENT_DUMP_BYTES");
    out = descriptor ? fdopen(atoi(descriptor), "w") : NULL;
    if (!out)
        return;
    most = bytes ? strtoull(bytes, NULL, 10) : 0;
    s_cb_data compiled = {.reason = cbEndOfCompile, .cb_rtn = at_end_of_compile};
    s_cb_data start = {.reason = cbStartOfSimulation, .cb_rtn = at_start};
    s_cb_data end = {.reason = cbEndOfSimulation, .cb_rtn = at_end};
    vpi_register_cb(&compiled);
    vpi_register_cb(&start);
    vpi_register_cb(&end);
}

void (*vlog_startup_routines[])(void) = {begin, 0};
