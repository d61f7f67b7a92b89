import NightshiftAPI

/// A journal entry as a line: its time, its subject, the decision, and the device state on which the decision was
/// based.
struct DecisionText {
    var style: Style

    /// Returns a line such as "12:01:04  org.example.Photos #12  The transfer is waiting. … (…) [battery=34
    /// power=battery]".
    func line(_ entry: JournalEntry, time: String) -> String {
        var line = style.faint(time) + "  " + TerminalText.padded(subject(entry), to: 24) + "  " + sentence(entry)
        let particulars = [entry.wait?.detail, entry.detail, entry.error?.message].compactMap(\.self)
            .reduce(into: [String]()) { kept, next in
                // The entry of a wait repeats the sentence about its failure. The sentence is shown only once.
                if !kept.contains(where: { $0.contains(next) }) { kept.append(next) }
            }
        if !particulars.isEmpty {
            line += " (" + particulars.map { TerminalText.escaped($0) }.joined(separator: " ") + ")"
        }
        if let inputs = entry.inputs, !inputs.isEmpty {
            let words = inputs.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
            line += style.faint(" [" + TerminalText.escaped(words) + "]")
        }
        return line
    }

    private func subject(_ entry: JournalEntry) -> String {
        let app = entry.app.map { AppText.id($0) }
        guard let task = entry.task else { return app ?? entry.decision.subject }
        return (app.map { $0 + " " } ?? "") + "#\(task)"
    }

    private func sentence(_ entry: JournalEntry) -> String {
        switch entry.decision {
        case .appEnded, .failed, .backgroundTaskRefused: style.bad(entry.decision.sentence)
        case .windowOpened, .dozeEnded: style.good(entry.decision.sentence)
        case .backgroundTimeExpiring: style.warning(entry.decision.sentence)
        default: entry.decision.sentence + (entry.wait.map { " " + $0.reason.sentence } ?? "")
        }
    }
}

extension Decision {
    /// The word for the subject of a decision that concerns neither a task nor an app.
    fileprivate var subject: String {
        switch self {
        case .deviceChanged, .deviceHeldAwake, .deviceReleased, .deviceSlept, .deviceWoke, .dozeBegan, .dozeEnded,
            .windowOpened, .windowClosed, .networkChanged, .networkLost, .networkReturned:
            "device"
        default: "service"
        }
    }
}
