import Glibc
import UnixSignals

/// The signals at which the service checkpoints and leaves.
enum DaemonSignals {
    /// Beside those that mean it, those that would end it all the same. SIGHUP comes when its terminal closes; a service that was
    /// started with nohup stays.
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
