import Foundation

/// The text of one Swift file, and the properties that can be recognized without a compiler.
struct SwiftSource {
    let text: String
    /// The text with blanked comments and string contents; all lines keep their positions.
    let code: String

    init(_ text: String) {
        self.text = text
        code = Self.blanked(text)
    }

    /// Every imported module, in order of appearance.
    var imports: [String] {
        let statement =
            #/
            ^\s*(?:@\w+(?:\([^)]*\))?\s+)*
            (?:(?:public|package|internal|fileprivate|private)\s+)?
            import\s+
            (?:(?:struct|class|enum|protocol|typealias|func|var|let)\s+)?
            ([A-Za-z_]\w*)
            /#
        return Self.words("import", in: code).compactMap { offset in
            Self.line(at: offset, in: code).firstMatch(of: statement).map { String($0.output.1) }
        }
    }

    /// Whether the file imports a module with `@testable`.
    var importsTestably: Bool { !Self.words("testable", in: code).isEmpty }

    /// Returns the line numbers, from 1, of code that calls the global function `name`.
    func calls(of name: String) -> [Int] {
        let bytes = Array(code.utf8)
        let calls = Self.words(name, in: code).filter { offset in
            let before = bytes[..<offset]
            return bytes[(offset + name.utf8.count)...].first == UInt8(ascii: "(")
                && before.last != UInt8(ascii: ".") && !before.suffix(5).elementsEqual("func ".utf8)
        }
        return numbers(calls)
    }

    /// Returns the line numbers, from 1, of code that contains `word` as a whole word.
    func mentions(of word: String) -> [Int] { numbers(Self.words(word, in: code)) }

    /// The line numbers, from 1, of code that sleeps.
    var sleeps: [Int] {
        let ways = [".sleep(for:", ".sleep(until:", ".sleep(nanoseconds:", ".sleep(forTimeInterval:"]
        let named = ["sleep", "usleep", "nanosleep", "clock_nanosleep"].flatMap { self.calls(of: $0) }
        return (numbers(ways.flatMap { Self.offsets(of: $0, in: code) }) + named).sorted()
    }

    /// The line numbers, from 1, of code that silently ignores an impossible transition of a state machine.
    var silencedTransitions: [Int] {
        let silenced = /try[?!]\s+(?:await\s+)?(?:[\w\[\]?]+\.)*(?:apply|transition)\(/
        return numbers(code.matches(of: silenced).map { code.utf8.distance(from: code.startIndex, to: $0.startIndex) })
    }

    /// The line numbers, from 1, of code that requires something to take no longer than a duration.
    var durationBounds: [Int] {
        let units = ["seconds", "milliseconds", "microseconds", "nanoseconds"]
        return numbers(
            units.flatMap { unit in
                Self.offsets(of: "< .\(unit)(", in: code) + Self.offsets(of: "<= .\(unit)(", in: code)
            })
    }

    /// The minutes of each test's time limit, in order of appearance.
    var testTimeLimits: [Int] {
        code.matches(of: /\.timeLimit\(\.minutes\((\d+)\)\)/).compactMap { Int($0.output.1) }
    }

    /// The line numbers, from 1, of code that builds a path of the local API. In text for people, a path follows a
    /// space or a backquote.
    var localPaths: [Int] {
        let bytes = Array(text.utf8)
        return numbers(
            Self.offsets(of: "/v1/", in: text).filter { offset in
                offset > 0 && bytes[offset - 1] != UInt8(ascii: " ") && bytes[offset - 1] != UInt8(ascii: "`")
            })
    }

    /// The line numbers, from 1, of marks of unfinished work in comments or elsewhere.
    var unfinished: [Int] { numbers(["TODO", "FIXME", "XXX"].flatMap { Self.words($0, in: text) }) }

    /// The line numbers, from 1, of code that disables a compiler check without a comment on or above the line.
    var unexplainedExceptions: [Int] {
        let found = numbers(["@unchecked", "nonisolated(unsafe)", "try!"].flatMap { Self.offsets(of: $0, in: code) })
        guard !found.isEmpty else { return [] }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return found.filter { number in !lines[max(0, number - 4)..<number].contains { $0.contains("//") } }
    }

    /// Returns the line numbers, from 1, of offsets in the text or the code. Blanking does not change offsets.
    private func numbers(_ offsets: [Int]) -> [Int] {
        let bytes = Array(text.utf8)
        return Set(offsets.map { bytes[..<$0].count { $0 == UInt8(ascii: "\n") } + 1 }).sorted()
    }

    /// Returns the line that contains a byte.
    private static func line(at offset: Int, in text: String) -> Substring {
        let index = text.utf8.index(text.startIndex, offsetBy: offset)
        let start = text.utf8[..<index].lastIndex(of: UInt8(ascii: "\n")).map { text.utf8.index(after: $0) }
        let end = text.utf8[index...].firstIndex(of: UInt8(ascii: "\n"))
        return text[(start ?? text.startIndex)..<(end ?? text.endIndex)]
    }

    /// Returns the offsets, in bytes, of `word` as a separate word.
    private static func words(_ word: String, in text: String) -> [Int] {
        let bytes = Array(text.utf8)
        func continues(_ index: Int) -> Bool {
            guard bytes.indices.contains(index) else { return false }
            let character = Character(UnicodeScalar(bytes[index]))
            return character.isLetter || character.isNumber || character == "_"
        }
        return offsets(of: word, in: text).filter { !continues($0 - 1) && !continues($0 + word.utf8.count) }
    }

    /// Returns the byte offsets of `pattern`.
    private static func offsets(of pattern: String, in text: String) -> [Int] {
        let data = Data(text.utf8)
        var found: [Int] = []
        var from = 0
        while let range = data.range(of: Data(pattern.utf8), in: from..<data.count) {
            found.append(range.lowerBound)
            from = range.upperBound
        }
        return found
    }
}

extension SwiftSource {
    /// Returns `text` with a space for each byte of comments and of string contents.
    private static func blanked(_ text: String) -> String {
        var scanner = Blanking(bytes: Array(text.utf8))
        scanner.run()
        return String(decoding: scanner.bytes, as: UTF8.self)
    }
}

/// A blanker of comments and strings, which passes once over the bytes of a source file. In UTF-8 no byte of a longer
/// character equals an ASCII byte.
private struct Blanking {
    var bytes: [UInt8]
    private var index = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func run() {
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "/") where starts("//"):
                while index < bytes.count, bytes[index] != newline { blank(1) }
            case UInt8(ascii: "/") where starts("/*"):
                blankBlock()
            case UInt8(ascii: "\""), UInt8(ascii: "#"):
                if let literal = openingLiteral() { blankLiteral(literal) } else { index += 1 }
            default:
                index += 1
            }
        }
    }

    /// Blanks a block comment. These can nest.
    private mutating func blankBlock() {
        var depth = 0
        repeat {
            if starts("/*") {
                depth += 1
                blank(2)
            } else if starts("*/") {
                depth -= 1
                blank(2)
            } else {
                blank(1)
            }
        } while depth > 0 && index < bytes.count
    }

    private struct Literal {
        var hashes: Int
        var quotes: Int
    }

    /// Returns the delimiters of the string literal that starts here.
    private func openingLiteral() -> Literal? {
        let hashes = bytes[index...].prefix { $0 == UInt8(ascii: "#") }.count
        guard starts("\"", at: index + hashes) else { return nil }
        return Literal(hashes: hashes, quotes: starts("\"\"\"", at: index + hashes) ? 3 : 1)
    }

    private mutating func blankLiteral(_ literal: Literal) {
        index += literal.hashes + literal.quotes
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\"") where closes(literal):
                index += literal.quotes + literal.hashes
                return
            case UInt8(ascii: "\\") where literal.hashes == 0:
                blank(2)
            default:
                blank(1)
            }
        }
    }

    /// Whether the closing delimiter of `literal` starts at a quote.
    private func closes(_ literal: Literal) -> Bool {
        let end = index + literal.quotes + literal.hashes
        guard end <= bytes.count, literal.quotes == 1 || starts("\"\"\"") else { return false }
        return bytes[(end - literal.hashes)..<end].allSatisfy { $0 == UInt8(ascii: "#") }
    }

    private mutating func blank(_ count: Int) {
        for _ in 0..<count where index < bytes.count {
            if bytes[index] != newline { bytes[index] = UInt8(ascii: " ") }
            index += 1
        }
    }

    private func starts(_ text: StaticString, at start: Int? = nil) -> Bool {
        let start = start ?? index
        guard start + text.utf8CodeUnitCount <= bytes.count else { return false }
        return (0..<text.utf8CodeUnitCount).allSatisfy { bytes[start + $0] == text.utf8Start[$0] }
    }

    private var newline: UInt8 { UInt8(ascii: "\n") }
}
