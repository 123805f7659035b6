# For gdb, by tools/dev/trace.sh: which functions of ours a running program enters, in the order in which it enters them
# first. Each has a breakpoint that is gone after its first hit. The first SIGUSR1 says that the event comes now, the second
# one that it is over.
import os
import re
import subprocess

import gdb

program = os.environ["TRACE_PROGRAM"]
sources = os.environ["TRACE_SOURCES"] + "/"
pid = os.environ["TRACE_PID"]
hits = []
entries = []


# "void cotrain::a::b<int>(long)::$_0::operator()(long) const" is cotrain::a::b: what a lambda does is its function's work.
def plain(name):
    name = re.sub(r"operator(<=>|<<|>>|<=|>=|<|>|->|\(\))", "operator", name.replace("(anonymous namespace)::", ""))
    depth, kept = 0, ""
    for c in name:
        depth += c in "<("
        if depth == 0:
            kept += c
        depth -= c in ">)"
        if depth == 0 and c == ")":
            break
    words = [word for word in kept.split() if word.startswith("cotrain::")]
    return words[-1].removeprefix("cotrain::") if words else ""


def functions():
    table = subprocess.run(["nm", "--defined-only", "-C", "-S", program], capture_output=True, text=True, check=True).stdout
    for line in table.splitlines():
        at, size, kind, name = (line.split(" ", 3) + [""])[:4]
        if kind in "tTwW" and plain(name) and not re.search(r"::~|\.(destroy|cleanup)\b|^guard variable", name):
            yield int(at, 16), int(size, 16), plain(name)


class entry(gdb.Breakpoint):
    def __init__(self, at, size, name):
        super().__init__("*%#x" % at, internal=True)
        self.silent = True
        self.what = name, at, size

    def stop(self):
        hits.append(self.what)
        self.enabled = False
        return False


# Its file, and how many lines it goes over.
def extent(at, size):
    line = gdb.find_pc_line(at)
    if line.symtab is None:
        return "", 0
    # The compiler's cache may know the file by another tree's path.
    file = re.sub(r"^.*/src/", "", os.path.normpath(line.symtab.filename))
    rows = {row.line for row in line.symtab.linetable() if at <= row.pc < at + size and row.line > 0}
    return file, max(rows) - min(rows) + 1 if rows else 0


gdb.execute("set breakpoint always-inserted on")
gdb.execute("handle SIGUSR1 stop nopass", to_string=True)
gdb.execute("attach " + pid, to_string=True)
with open("/proc/%s/maps" % pid) as maps:
    start = min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(program))
for at, size, name in sorted(set(functions())):
    if name == "app::give_back_memory":
        # It lets go of the pages of code, and of the breakpoints in them: it returns at once.
        gdb.selected_inferior().write_memory(start + at, b"\xc3")
    else:
        entries.append(entry(start + at, size, name))
# Timers that were due meanwhile do their work first.
print("attached", flush=True)
gdb.execute("continue", to_string=True)
hits.clear()
for each in entries:
    each.enabled = True
print("ready", flush=True)
gdb.execute("continue", to_string=True)
for name, at, size in hits:
    file, lines = extent(at, size)
    if os.path.exists(sources + file):
        print("entered", lines, file, name)
gdb.execute("kill")
