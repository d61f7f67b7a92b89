import Glibc
import TestSupport

/// SIGTERM and SIGINT, which end the program's work. This value is created before any thread starts, so that all
/// threads leave the signals to ``wait(_:)``.
struct EndSignals {
    private var signals = sigset_t()

    init() {
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Returns whether one of the signals arrives within `time`.
    func wait(_ time: Duration) -> Bool {
        var signals = signals
        let (seconds, attoseconds) = time.components
        var wait = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        return sigtimedwait(&signals, nil, &wait) > 0
    }
}

/// The file from which the process that started the program reads its port.
enum PortFile {
    /// Writes the file with a rename, so that a process that waits for it never reads half of it.
    static func publish(_ port: UInt16, in path: String) throws {
        guard let file = fopen("\(path).new", "w") else { throw SystemError("open \(path).new") }
        fputs("\(port)\n", file)
        fclose(file)
        guard rename("\(path).new", path) == 0 else { throw SystemError("rename \(path)") }
    }
}

/// Prints a line at once, even into a pipe or file, where `print` would buffer it.
func printLine(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = Glibc.write(1, bytes, bytes.count)
}
