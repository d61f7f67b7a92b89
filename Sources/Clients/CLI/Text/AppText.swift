import Foundation
import NightshiftAPI

/// Short texts for apps, their states and their ends.
enum AppText {
    /// Returns the escaped name, or nil if the name is the same as the id.
    static func name(_ app: AppStatus) -> String? {
        app.name.isEmpty || app.name == app.id.rawValue ? nil : TerminalText.escaped(app.name)
    }

    static func id(_ id: AppID) -> String {
        TerminalText.escaped(id.rawValue)
    }

    /// Returns escaped text such as "events of a session: photos".
    static func wake(_ wake: WakeStatus) -> String {
        wake.reason.wording.short + ((wake.session ?? wake.key).map { ": " + TerminalText.escaped($0) } ?? "")
    }

    /// Returns escaped text such as "The app was ended by a signal. (signal 11, SIGSEGV)".
    static func exit(_ exit: AppExit) -> String {
        var particulars: [String] = []
        if let status = exit.status, status != 0 { particulars.append("status \(status)") }
        if let signal = exit.signal {
            particulars.append("signal \(signal)")
            if let name = signalName(signal) { particulars.append(name) }
        }
        if let code = exit.cause.code { particulars.append("0x" + String(code, radix: 16)) }
        if let detail = exit.detail, !detail.isEmpty { particulars.append(TerminalText.escaped(detail)) }
        return exit.cause.sentence + (particulars.isEmpty ? "" : " (" + particulars.joined(separator: ", ") + ")")
    }

    /// Returns text such as "opportunistic, 3 min while the device is awake anyway".
    static func policy(_ policy: BackgroundPolicy) -> String {
        let time = QuantityText.duration(policy.seconds)
        return switch policy.kind {
        case .contiguous: "contiguous, \(time) with the device kept awake"
        case .opportunistic: "opportunistic, \(time) while the device is awake anyway"
        }
    }

    static func policy(_ background: BackgroundStatus) -> String {
        let source =
            switch background.policySource {
            case .device: "the device's policy"
            case .manifest: "from its desktop entry"
            case .app: "set for this app"
            }
        return policy(background.policy) + " (\(source))"
    }

    static func modes(_ modes: Set<BackgroundMode>) -> String {
        modes.isEmpty
            ? "none" : BackgroundMode.allCases.filter { modes.contains($0) }.map(\.rawValue).joined(separator: ", ")
    }

    /// Returns the command as a user types it in a shell, escaped for the terminal.
    static func command(_ words: [String]) -> String {
        words.map { word in
            let isPlain = !word.isEmpty && word.allSatisfy { $0.isLetter || $0.isNumber || "-_./=:,@%+".contains($0) }
            return TerminalText.escaped(isPlain ? word : "'" + word.replacing("'", with: #"'\''"#) + "'")
        }.joined(separator: " ")
    }

    /// Returns the name of a signal if it is one that ends programs.
    private static func signalName(_ number: Int32) -> String? {
        switch number {
        case 1: "SIGHUP"
        case 2: "SIGINT"
        case 3: "SIGQUIT"
        case 4: "SIGILL"
        case 5: "SIGTRAP"
        case 6: "SIGABRT"
        case 8: "SIGFPE"
        case 9: "SIGKILL"
        case 11: "SIGSEGV"
        case 13: "SIGPIPE"
        case 15: "SIGTERM"
        default: nil
        }
    }
}
