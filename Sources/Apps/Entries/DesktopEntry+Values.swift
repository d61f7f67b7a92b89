/// Values by their types (Desktop Entry Specification, "Possible value types").
extension DesktopEntry {
    func error(_ message: String, key: String, at line: Int?) -> EntryError {
        EntryError(.value, file: file, line: line, key: key, message)
    }

    /// A string, its escapes resolved; nil where the key is missing or says nothing.
    func string(_ key: String) throws(EntryError) -> (text: String, line: Int)? {
        guard let value = self[key], !value.text.isEmpty else { return nil }
        return (try unescaped(value, of: key, separator: nil).first ?? "", value.line)
    }

    /// A list: its parts end with `;`, and `\;` is a semicolon in one of them.
    func list(_ key: String) throws(EntryError) -> (parts: [String], line: Int)? {
        guard let value = self[key] else { return nil }
        return (try unescaped(value, of: key, separator: ";"), value.line)
    }

    /// `true` or `false`; false where the key is missing.
    func boolean(_ key: String) throws(EntryError) -> Bool {
        guard let value = self[key] else { return false }
        switch value.text {
        case "true": return true
        case "false": return false
        default: throw error("'\(value.text)' is neither 'true' nor 'false'", key: key, at: value.line)
        }
    }

    /// A string that is a path from the root.
    func absolutePath(_ key: String) throws(EntryError) -> String? {
        guard let (path, line) = try string(key) else { return nil }
        guard path.hasPrefix("/") else { throw error("'\(path)' is not an absolute path", key: key, at: line) }
        return path
    }

    private func unescaped(_ value: Value, of key: String, separator: Unicode.Scalar?) throws(EntryError) -> [String] {
        var parts: [String] = []
        var part = String.UnicodeScalarView()
        var isEscaped = false
        for scalar in value.text.unicodeScalars {
            if isEscaped {
                isEscaped = false
                switch scalar {
                case "s": part.append(" ")
                case "n": part.append("\n")
                case "t": part.append("\t")
                case "r": part.append("\r")
                case "\\": part.append("\\")
                case separator: part.append(scalar)
                default:
                    throw error(
                        "'\\\(scalar)' is not an escape; a backslash itself is written twice", key: key, at: value.line)
                }
            } else if scalar == "\\" {
                isEscaped = true
            } else if scalar == separator {
                parts.append(String(part))
                part.removeAll()
            } else {
                part.append(scalar)
            }
        }
        guard !isEscaped else { throw error("there is nothing behind the last backslash", key: key, at: value.line) }
        if separator == nil || !part.isEmpty { parts.append(String(part)) }
        return parts
    }
}
