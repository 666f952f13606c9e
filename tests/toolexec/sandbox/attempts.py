"""Runs inside the sandbox: tries everything it must not manage, and prints what each attempt gave, as JSON.

Arguments: the process id of a judge, a TCP port and a socket file that listen outside, the given and the outside
folder.
"""

import ctypes
import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading

judge, port, unix_path, given, outside = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:6]
libc = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"
told = {}


def attempt(name, action):
    """Note an attempt's result, or the name of its error."""
    try:
        told[name] = repr(action())[:200]
    except BaseException as error:
        told[name] = f"refused: {type(error).__name__}"


def call(x86, arm, *arguments):
    """A system call by number; raises OSError."""
    result = libc.syscall(ctypes.c_long(x86 if X86 else arm), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def connect(family, kind, address):
    with socket.socket(family, kind) as s:
        s.settimeout(2)
        s.connect(address)


def send_from_pair():
    a, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    a.sendto(b"answer", unix_path)


def write(path):
    with open(path, "w") as stream:
        stream.write("x")


def read(path):
    with open(path, "rb") as stream:
        return stream.read(100)


def vm_read():
    local = (ctypes.c_char * 8)()
    iovec = (ctypes.c_size_t * 2)(ctypes.addressof(local), 8)
    remote = (ctypes.c_size_t * 2)(0x400000, 8)
    return call(310, 270, judge, iovec, ctypes.c_ulong(1), remote, ctypes.c_ulong(1), ctypes.c_ulong(0))


def new_filter():
    if libc.prctl(22, 2, 0, 0, 0):
        error = ctypes.get_errno()
        if error == 14:  # EFAULT: the kernel would have read a program
            return "accepted"
        raise OSError(error, "")


def signal_by_owner():
    import fcntl

    a, b = socket.socketpair()
    fcntl.fcntl(a, 8, judge)  # F_SETOWN
    fcntl.fcntl(a, 10, signal.SIGTERM)  # F_SETSIG
    return "accepted"


def shell():
    script = f"cat {outside}/secret || echo x > {outside}/by-shell"
    return subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True).stdout


def late():
    os.chmod(f"{outside}/secret", 0o777)


attempt("tcp", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)))
attempt("udp", lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", port)))
attempt("bind", lambda: socket.create_server(("127.0.0.1", 0)))
attempt("netlink", lambda: socket.socket(16, socket.SOCK_RAW))
attempt("unix", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, unix_path))
attempt("abstract", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{unix_path}"))
attempt("datagram pair", send_from_pair)
attempt("write outside", lambda: write(f"{outside}/new"))
attempt("write over", lambda: write(f"{outside}/secret"))
attempt("write given", lambda: write(f"{given}/source"))
attempt("write tmp", lambda: write(f"{outside}/../escape"))
attempt("write system", lambda: write("/usr/kernelwright-escape"))
attempt("remove given", lambda: os.unlink(f"{given}/source"))
attempt("rename given", lambda: os.rename(f"{given}/source", "stolen"))
attempt("link secret", lambda: os.link(f"{outside}/secret", "secret"))
attempt("mode", late)
attempt("owner", lambda: os.chown(f"{outside}/secret", os.getuid(), os.getgid()))
attempt("read secret", lambda: read(f"{outside}/secret"))
attempt("read by link", lambda: (os.symlink(f"{outside}/secret", "way"), read("way")))
attempt("list outside", lambda: os.listdir(outside))
attempt("shadow", lambda: read("/etc/shadow"))
attempt("judge's memory", lambda: read(f"/proc/{judge}/mem"))
attempt("judge's environment", lambda: read(f"/proc/{judge}/environ"))
attempt("judge's descriptors", lambda: os.listdir(f"/proc/{judge}/fd"))
attempt("parent's environment", lambda: read(f"/proc/{os.getppid()}/environ"))
attempt("signal judge", lambda: os.kill(judge, signal.SIGCONT))
attempt("signal judge's group", lambda: os.killpg(judge, signal.SIGCONT))
attempt("signal by owner", signal_by_owner)
attempt("ptrace", lambda: call(101, 117, ctypes.c_long(16), judge, 0, 0))
attempt("vm_readv", vm_read)
attempt("pidfd_getfd", lambda: call(438, 438, call(434, 434, judge, 0), 0, 0))
attempt("perf_event_open", lambda: call(298, 241, ctypes.create_string_buffer(128), 0, -1, -1, 0))
attempt("bpf", lambda: call(321, 280, 0, ctypes.create_string_buffer(128), 128))
attempt("userfaultfd", lambda: call(323, 282, 0))
attempt("keyctl", lambda: call(250, 219, 0, -1, 1))
attempt("kexec_load", lambda: call(246, 104, 0, 0, None, 0))
attempt("mount", lambda: call(165, 40, b"none", b"/mnt", b"tmpfs", 0, None))
attempt("user namespace", lambda: call(272, 97, 0x10000000))
attempt("io_uring", lambda: call(425, 425, 1, ctypes.create_string_buffer(256)))
attempt("shared memory", lambda: call(29, 194, 0, ctypes.c_long(4096), 0o1600))
attempt("new filter", new_filter)
attempt("timer that signals", lambda: call(222, 107, 1, None, ctypes.create_string_buffer(8)))
attempt("waking child", lambda: os.waitpid(call(56, 220, signal.SIGCONT, 0, 0, 0, 0) or os._exit(0), 1 << 30))
attempt("affinity", lambda: os.sched_setaffinity(0, {0}))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, 5))
attempt("root again", lambda: os.setuid(0) if os.getuid() else os.setgroups([0]))
attempt("more limits", lambda: __import__("resource").prlimit(judge, __import__("resource").RLIMIT_NOFILE, (64, 64)))
attempt("unmask processes", lambda: [p for p in os.listdir("/proc") if p == str(judge)] or 1 / 0)
attempt("shell", shell)

# What honest kernels and compilers need.
attempt("ok scratch", lambda: write("mine"))
attempt("ok tmp", lambda: tempfile.TemporaryFile().write(b"x"))
attempt("ok given", lambda: read(f"{given}/kept"))
attempt("ok home", lambda: write(os.path.expanduser("~/mine")))
attempt("ok jit", lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close())
attempt("ok thread", lambda: (t := threading.Thread(target=int), t.start(), t.join()))
attempt("ok pair", lambda: [s.close() for s in socket.socketpair()])
attempt("ok child", lambda: subprocess.run(["/bin/sh", "-c", "exit 0"], check=True))
attempt("ok null", lambda: write(os.devnull))
attempt("ok random", lambda: read("/dev/urandom"))
attempt("ok self", lambda: read("/proc/self/maps"))
attempt("ok cpus", lambda: (read("/proc/cpuinfo"), os.listdir("/sys/devices/system/cpu"), os.cpu_count()))
attempt("ok signal", lambda: (signal.signal(signal.SIGUSR1, lambda *_: None), os.kill(os.getpid(), signal.SIGUSR1)))
print(json.dumps(told))
