/// The result of one check of `nightshift doctor`.
struct Finding: Hashable, Sendable, Encodable {
    enum Result: String, Sendable, Encodable {
        case ok, warn, fail
    }

    /// The name of the check. It never changes, because programs may search for it.
    var check: String
    var result: Result
    var detail: String
    /// Advice that says how the user can correct the problem.
    var advice: String?

    static func ok(_ check: String, _ detail: String) -> Finding {
        Finding(check: check, result: .ok, detail: detail)
    }

    static func warn(_ check: String, _ detail: String, advice: String? = nil) -> Finding {
        Finding(check: check, result: .warn, detail: detail, advice: advice)
    }

    static func fail(_ check: String, _ detail: String, advice: String? = nil) -> Finding {
        Finding(check: check, result: .fail, detail: detail, advice: advice)
    }

    func line(_ style: Style) -> String {
        let mark =
            switch result {
            case .ok: style.good("ok  ")
            case .warn: style.warning("warn")
            case .fail: style.bad("FAIL")
            }
        let advice = advice.map { "\n" + String(repeating: " ", count: 22) + "> " + TerminalText.escaped($0) } ?? ""
        return "\(mark)  \(TerminalText.padded(check, to: 14))  \(TerminalText.escaped(detail))\(advice)"
    }
}
