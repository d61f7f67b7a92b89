import Foundation

extension TracedSubmission: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case identifier, kind, after, network, power
    }

    /// The kinds of scheduled tasks in a trace. Continued tasks are missing, because the user starts those in the
    /// foreground.
    private enum Word: String, CaseIterable {
        case refresh, processing
    }

    package init(from decoder: any Decoder) throws {
        let task = try TraceObject(decoder, keys: CodingKeys.self)
        guard let identifier = try task.text(.identifier, limit: Limits.taskIdentifierLength), !identifier.isEmpty
        else {
            throw TraceMistake("'submit' needs 'identifier', such as org.example.refresh")
        }
        guard let word = try task.word(.kind, as: Word.self) else {
            throw TraceMistake("'submit' needs 'kind': refresh or processing")
        }
        self.init(identifier: identifier, kind: word == .refresh ? .refresh : .processing)
        after = try task.number(.after, in: 0...TraceMoment.latest)
        requiresNetwork = try task.truth(.network)
        requiresPower = try task.truth(.power)
        guard kind == .processing || (requiresNetwork == nil && requiresPower == nil) else {
            throw TraceMistake("'network' and 'power' are only allowed for processing tasks")
        }
    }
}

extension TracedRefresh: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case on, interval, dailyCap, dailyEnergy, dailyBytes
    }

    package init(from decoder: any Decoder) throws {
        let refresh = try TraceObject(decoder, keys: CodingKeys.self)
        self.init()
        isOn = try refresh.truth(.on)
        interval = try refresh.interval(.interval, word: "default")
        dailyCap = try refresh.whole(.dailyCap, in: -1...1_000).map { Int($0) }
        dailyEnergy = try refresh.number(.dailyEnergy, in: 0...1e15)
        dailyBytes = try refresh.number(.dailyBytes, in: 0...1e15)
        if self == TracedRefresh() { throw TraceMistake("'refresh' must contain at least one change") }
    }
}

extension TraceObject {
    func interval(_ key: Key) throws -> RefreshInterval? { try interval(key, word: nil).flatMap(RefreshInterval.init) }

    /// Returns an interval as text. The text may also be `word`.
    func interval(_ key: Key, word: String?) throws -> String? {
        guard let value = try value(key) else { return nil }
        if let text = value.text, text == word || RefreshInterval(text) != nil { return text }
        let words = ["never", "minimum", word].compactMap(\.self).joined(separator: ", ")
        throw TraceMistake("'\(key.rawValue)' must be \(words), or a number of seconds up to one year")
    }
}
