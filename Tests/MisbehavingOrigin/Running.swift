import Glibc
import TestSupport

/// SIGTERM and SIGINT, which end what the program does; made before any thread starts, so that all leave them to ``wait(_:)``.
struct EndSignals {
    private var signals = sigset_t()

    init() {
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Whether one of them has come within `time`.
    func wait(_ time: Duration) -> Bool {
        var signals = signals
        let (seconds, attoseconds) = time.components
        var wait = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        return sigtimedwait(&signals, nil, &wait) > 0
    }
}

/// The file from which the process that started the program reads its port.
enum PortFile {
    /// By rename, so that who waits for the file never reads half of it.
    static func publish(_ port: UInt16, in path: String) throws {
        guard let file = fopen("\(path).new", "w") else { throw SystemError("open \(path).new") }
        fputs("\(port)\n", file)
        fclose(file)
        guard rename("\(path).new", path) == 0 else { throw SystemError("rename \(path)") }
    }
}

/// Prints a line at once, also into a pipe or file, where `print` would keep it back.
func printLine(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = Glibc.write(1, bytes, bytes.count)
}
