import Glibc
import UnixSignals

/// The signals that make the service save its state and exit.
enum DaemonSignals {
    /// All signals that stop the service. Besides the usual ones, they are signals that would otherwise end the
    /// process. SIGHUP arrives when the terminal closes; a service that was started with nohup ignores it.
    static let all: [UnixSignal] = [.sigterm, .sigint, .sighup, .sigusr1, .sigusr2]

    static var shutdown: [UnixSignal] { shutdown(ignoresHangups: ignores(SIGHUP)) }

    static func shutdown(ignoresHangups: Bool) -> [UnixSignal] {
        all.filter { $0 != .sighup || !ignoresHangups }
    }

    private static func ignores(_ signal: Int32) -> Bool {
        var action = sigaction()
        return sigaction(signal, nil, &action) == 0
            && unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
                == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
