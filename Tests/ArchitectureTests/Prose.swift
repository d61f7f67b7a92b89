import Foundation

/// The sentences of one file: the comments, strings and test names of a Swift file, or all text of another file.
struct Prose {
    /// The sentences in lower case, without comment marks and with single spaces.
    private let text: Data
    /// The first line of each doc comment.
    let openings: [String]

    init(document: String) {
        text = Self.normalized(Array(document.utf8))
        openings = []
    }

    init(_ source: SwiftSource) {
        let code = Array(source.code.utf8)
        var prose = Array(source.text.utf8)
        var isName = false
        for index in prose.indices {
            if code[index] == UInt8(ascii: "`") { isName.toggle() }
            // Blanked text has a space instead of each byte that is not code.
            if !isName && code[index] == prose[index] { prose[index] = UInt8(ascii: " ") }
        }
        text = Self.normalized(prose)

        var openings: [String] = []
        var isInside = false
        for line in source.text.split(separator: "\n", omittingEmptySubsequences: false) {
            let line = line.drop(while: \.isWhitespace)
            let isDocumentation = line.hasPrefix("///")
            if isDocumentation && !isInside { openings.append(String(line.dropFirst(3).drop(while: \.isWhitespace))) }
            isInside = isDocumentation
        }
        self.openings = openings
    }

    private static func normalized(_ bytes: [UInt8]) -> Data {
        let space = UInt8(ascii: " ")
        var text: [UInt8] = [space]
        text.reserveCapacity(bytes.count)
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): text.append(byte | 0x20)
            // A slash both ends a word and marks a comment.
            case 0...space, UInt8(ascii: "/"): if text.last != space { text.append(space) }
            default: text.append(byte)
            }
        }
        return Data(text + [space])
    }

    /// The number of uses of each phrase that this project avoids, and of each opening of a doc comment that it
    /// refuses.
    var counts: [String: Int] {
        var counts: [String: Int] = [:]
        for phrase in Self.avoided {
            let uses = uses(of: phrase)
            if uses > 0 { counts[phrase] = uses }
        }
        for opening in openings {
            guard let word = Self.refusedOpenings.first(where: { Self.opens(opening, with: $0) }) else { continue }
            counts["/// \(word)", default: 0] += 1
        }
        return counts
    }

    private func uses(of phrase: String) -> Int {
        let pattern = Data(phrase.utf8)
        var uses = 0
        var from = text.startIndex
        while let found = text.range(of: pattern, in: from..<text.endIndex) {
            from = found.upperBound
            guard !Self.isLetter(text[found.lowerBound - 1]), !Self.isLetter(text[found.upperBound]) else { continue }
            if phrase == "behind" && isBeforeHost(found.upperBound) { continue }
            uses += 1
        }
        return uses
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    }

    /// Returns whether one of the next four words is a host that something can be behind, such as a proxy.
    private func isBeforeHost(_ index: Int) -> Bool {
        let next = String(decoding: text[index...].prefix(60), as: UTF8.self).split(separator: " ").prefix(4)
        return next.contains { word in Self.hosts.contains(word.filter(\.isLetter)) }
    }

    private static let hosts: Set<String> = ["proxy", "proxies", "gateway", "portal", "nat", "firewall", "balancer"]

    private static func opens(_ text: String, with word: String) -> Bool {
        guard text.hasPrefix(word) else { return false }
        return text.dropFirst(word.count).first.map { !$0.isLetter && $0 != "'" } ?? true
    }

    /// Phrases that make a sentence hard to read. CONTRIBUTING.md says what to write instead.
    static let avoided = [
        "whoever", "whom", "anew", "any more", "its user", "its users", "behind", "in vain", "is told", "tells of",
        "goes on",
        "there is none", "stands in", "stands twice", "as yet", "is had", "comes to", "is at work for",
        "what is there", "of its own accord",
    ]

    /// The openings that leave a doc comment without a subject. A doc comment opens with a noun phrase or a verb.
    static let refusedOpenings = [
        "What", "Whoever", "Whose", "Whom", "Who", "Those", "That which", "Of", "Behind", "As",
    ]
}
