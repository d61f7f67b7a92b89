/// Access to values by type (Desktop Entry Specification, "Possible value types").
extension DesktopEntry {
    func error(_ message: String, key: String, at line: Int?) -> EntryError {
        EntryError(.value, file: file, line: line, key: key, message)
    }

    /// Returns a string with its escapes resolved; nil if the key is missing or its value is empty.
    func string(_ key: String) throws(EntryError) -> (text: String, line: Int)? {
        guard let value = self[key], !value.text.isEmpty else { return nil }
        return (try unescaped(value, of: key, separator: nil).first ?? "", value.line)
    }

    /// Returns a list; nil if the key is missing. Each element ends with `;`, and `\;` is a semicolon within an
    /// element.
    func list(_ key: String) throws(EntryError) -> (parts: [String], line: Int)? {
        guard let value = self[key] else { return nil }
        return (try unescaped(value, of: key, separator: ";"), value.line)
    }

    /// Returns a boolean; false if the key is missing.
    func boolean(_ key: String) throws(EntryError) -> Bool {
        guard let value = self[key] else { return false }
        switch value.text {
        case "true": return true
        case "false": return false
        default: throw error("'\(value.text)' is neither 'true' nor 'false'", key: key, at: value.line)
        }
    }

    /// Returns an absolute path; nil if the key is missing. Throws if the value is not an absolute path.
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
                        "'\\\(scalar)' is not an escape sequence; write a backslash itself as '\\\\'", key: key,
                        at: value.line)
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
        guard !isEscaped else {
            throw error(
                "a backslash cannot be the last character; write a backslash itself as '\\\\'", key: key,
                at: value.line)
        }
        if separator == nil || !part.isEmpty { parts.append(String(part)) }
        return parts
    }
}
