import Foundation
import NightshiftAPI

/// An SVG document that is built element by element, with escaped text and short numbers.
struct SVGDocument {
    private var lines: [String] = []

    /// Adds a shape with a title, which a browser shows at the pointer.
    mutating func add(_ name: String, _ attributes: [(String, String)], title: String? = nil) {
        let start = "<\(name)" + attributes.map { " \($0.0)=\"\(Self.escaped($0.1))\"" }.joined()
        lines.append(title.map { "\(start)><title>\(Self.escaped($0))</title></\(name)>" } ?? "\(start)/>")
    }

    mutating func rectangle(
        x: Double, y: Double, width: Double, height: Double, style: String, radius: Double = 0, title: String? = nil
    ) {
        var attributes = [
            ("class", style), ("x", Self.number(x)), ("y", Self.number(y)), ("width", Self.number(width)),
            ("height", Self.number(height)),
        ]
        if radius > 0 { attributes.append(("rx", Self.number(radius))) }
        add("rect", attributes, title: title)
    }

    mutating func path(_ data: String, style: String, title: String? = nil) {
        add("path", [("class", style), ("d", data)], title: title)
    }

    mutating func text(_ text: String, x: Double, y: Double, style: String, title: String? = nil) {
        let hover = title.map { "<title>\(Self.escaped($0))</title>" } ?? ""
        lines.append(
            "<text class=\"\(style)\" x=\"\(Self.number(x))\" y=\"\(Self.number(y))\">\(hover)"
                + "\(Self.escaped(text))</text>")
    }

    /// Returns the complete document.
    ///
    /// - Parameter description: a description of the picture for screen readers.
    func rendered(
        width: Double, height: Double, title: String, description: String, style: String, definitions: String
    ) -> String {
        let size = "width=\"\(Self.number(width))\" height=\"\(Self.number(height))\""
        let box = "viewBox=\"0 0 \(Self.number(width)) \(Self.number(height))\""
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <svg xmlns="http://www.w3.org/2000/svg" \(size) \(box) role="img">
            <title>\(Self.escaped(title))</title>
            <desc>\(Self.escaped(description))</desc>
            <style>
            \(style)
            </style>
            <defs>
            \(definitions)
            </defs>
            \(lines.joined(separator: "\n"))
            </svg>

            """
    }

    /// Returns the number with at most two decimals. A hundredth of a pixel is invisible.
    static func number(_ value: Double) -> String {
        let hundredths = Int(saturating: (value * 100).rounded())
        let whole = hundredths / 100
        let rest = abs(hundredths % 100)
        guard rest != 0 else { return String(whole) }
        let digits = rest % 10 == 0 ? String(rest / 10) : (rest < 10 ? "0" : "") + String(rest)
        return (hundredths < 0 && whole == 0 ? "-" : "") + "\(whole).\(digits)"
    }

    /// Escapes text, and replaces control characters that XML 1.0 (section 2.2) does not allow.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\n", "\t": result.unicodeScalars.append(scalar)
            default:
                let isAllowed = scalar.value >= 0x20 && scalar.value != 0xFFFE && scalar.value != 0xFFFF
                result.unicodeScalars.append(isAllowed ? scalar : "\u{FFFD}")
            }
        }
        return result
    }
}
