/// Functions that escape and measure text for a terminal.
///
/// File names, URLs and error messages come from servers. A control character in such a text could move the cursor,
/// change the window's title, or type into the terminal. A direction mark could make a name look like a different name.
enum TerminalText {
    /// Returns `text` with all control and invisible characters written as `\x1b` or `\u{202e}`.
    static func escaped(_ text: String, keepingNewlines: Bool = false) -> String {
        guard text.unicodeScalars.contains(where: { isDangerous($0) }) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isDangerous(scalar), !(keepingNewlines && scalar == "\n") {
                let digits = String(scalar.value, radix: 16)
                result += scalar.value < 0x100 ? "\\x" + (digits.count < 2 ? "0" : "") + digits : "\\u{\(digits)}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Returns the width of `text` in columns. A wide East Asian character or an emoji has two columns, and a combining
    /// mark has none.
    static func width(_ text: String) -> Int {
        text.reduce(0) { $0 + width($1) }
    }

    /// Returns `text` with at most `columns`. It is shortened in the middle, because names often differ at their ends.
    static func shortened(_ text: String, to columns: Int) -> String {
        guard width(text) > columns else { return text }
        guard columns > 1 else { return columns == 1 ? "…" : "" }
        let tail = columns / 3
        return prefix(of: text, columns: columns - 1 - tail) + "…" + suffix(of: text, columns: tail)
    }

    /// Returns the beginning of `text` that fits into `columns`. It ends with an ellipsis if text was cut off.
    static func clipped(_ text: String, to columns: Int) -> String {
        guard width(text) > columns else { return text }
        let kept = prefix(of: text, columns: columns)
        // Spaces at the end are padding, so no ellipsis is needed if only spaces are cut off.
        guard columns > 0, text.dropFirst(kept.count).contains(where: { $0 != " " }) else { return kept }
        return prefix(of: text, columns: columns - 1) + "…"
    }

    static func padded(_ text: String, to columns: Int) -> String {
        text + String(repeating: " ", count: max(0, columns - width(text)))
    }

    static func rightAligned(_ text: String, to columns: Int) -> String {
        String(repeating: " ", count: max(0, columns - width(text))) + text
    }

    private static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value >= 0x20 && scalar.value < 0x7f { return false }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
            return true
        case .format:
            // Joiners belong to letters and emoji. The other characters of this category are invisible or change the
            // direction of text.
            return scalar.value != 0x200C && scalar.value != 0x200D
        default:
            return false
        }
    }

    private static func prefix(of text: String, columns: Int) -> String {
        var used = 0
        return String(
            text.prefix { character in
                used += width(character)
                return used <= columns
            })
    }

    private static func suffix(of text: String, columns: Int) -> String {
        String(prefix(of: String(text.reversed()), columns: columns).reversed())
    }

    private static func width(_ character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        if first.value < 0x300 { return 1 }
        if character.unicodeScalars.contains(where: { $0.value == 0xFE0F }) { return 2 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return isWide(first.value) ? 2 : 1
        }
    }

    /// Returns whether the character is wide or full-width according to Unicode Standard Annex #11.
    private static func isWide(_ value: UInt32) -> Bool {
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
            0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F,
            0x1F680...0x1F6FF, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            true
        default:
            false
        }
    }
}
