/// The names of the commands that a source file declares.
struct CommandNames {
    var all: [String]

    /// Finds the commands: structs that conform to something named `...Command`. Each is named by `commandName:` if
    /// present, and otherwise by its type's name as ArgumentParser spells it.
    init(in source: SwiftSource) {
        all = []
        let declaration = /struct (\w+)\s*:\s*(?:[^{]*\b)?\w*Command\b[^{]*\{/
        let starts = source.code.matches(of: declaration)
        for (index, match) in starts.enumerated() {
            let from = source.code.utf8.distance(from: source.code.startIndex, to: match.range.lowerBound)
            let end = index + 1 < starts.count ? starts[index + 1].range.lowerBound : source.code.endIndex
            let to = source.code.utf8.distance(from: source.code.startIndex, to: end)
            // Blanking keeps the number of bytes, so both texts have the same offsets.
            let body = String(decoding: Array(source.text.utf8)[from..<to], as: UTF8.self)
            // Hidden commands are not meant for people.
            if body.contains("shouldDisplay: false") { continue }
            let given = body.firstMatch(of: /commandName:\s*"([^"]+)"/).map { String($0.output.1) }
            all.append(given ?? Self.spelled(match.output.1))
        }
    }

    /// `DoctorCheck` as `doctor-check`.
    private static func spelled(_ type: Substring) -> String {
        type.reduce(into: "") { name, character in
            if character.isUppercase && !name.isEmpty { name.append("-") }
            name.append(character.lowercased())
        }
    }

    /// Whether `manual` has `command` at the beginning of some code, alone, after `nightshift` or after another of
    /// the `commands`.
    static func isDocumented(_ command: String, among commands: [String], in manual: String) -> Bool {
        let spans = manual.matches(of: /`([^`\n]+)`/).map(\.output.1)
        let lines = manual.split(separator: "\n").filter {
            $0.hasPrefix("nightshift ") || $0.hasPrefix("$ nightshift ")
        }
        return (spans + lines).contains { code in
            for word in code.split(separator: " ").drop(while: { $0 == "$" || $0 == "nightshift" }) {
                let names = word.split(separator: "|").map(String.init)
                if names.contains(command) { return true }
                guard names.allSatisfy(commands.contains) else { return false }
            }
            return false
        }
    }
}
