/// The targets of `Package.swift` and their dependencies, read from its text.
struct Manifest {
    struct Target: Equatable {
        var name: String
        /// The names of the targets and products on which this target depends.
        var dependencies: Set<String>
        /// The path of the sources; nil if the manifest gives none.
        var path: String?
    }

    var targets: [Target]

    init(_ text: String) {
        let source = SwiftSource(text).withoutComments
        var products: [String: String] = [:]
        for match in source.matches(of: /let (\w+) = service\("([^"]+)"/) {
            products[String(match.output.1)] = String(match.output.2)
        }
        targets = []
        for match in source.matches(of: /\.(?:target|executableTarget|testTarget|systemLibrary)\(/) {
            let body = Self.balanced(source[match.range.upperBound...])
            guard let name = body.firstMatch(of: /name: "([^"]+)"/) else { continue }
            var target = Target(name: String(name.output.1), dependencies: [])
            target.path = body.firstMatch(of: /path: "([^"]+)"/).map { String($0.output.1) }
            if let start = body.firstRange(of: "dependencies: [") {
                let list = body[start.upperBound...].prefix { $0 != "]" }
                for item in list.split(separator: ",").map({ $0.trimming(while: \.isWhitespace) }) where !item.isEmpty {
                    let plain = item.trimming { $0 == "\"" }
                    target.dependencies.insert(
                        item.hasPrefix("\"") ? String(plain) : products[String(plain)] ?? String(plain))
                }
            }
            targets.append(target)
        }
    }

    /// Returns the text up to the parenthesis that closes one opened before it.
    private static func balanced(_ text: Substring) -> Substring {
        var depth = 1
        return text.prefix { character in
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            return depth > 0
        }
    }
}

extension SwiftSource {
    /// The text without its `//` comments. Strings remain, except a string that contains a space and then two slashes.
    var withoutComments: String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in line.firstRange(of: "// ").map { line[..<$0.lowerBound] } ?? line }
            .joined(separator: "\n")
    }
}
