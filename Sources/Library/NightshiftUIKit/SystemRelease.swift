import Foundation

/// The system's name and version (os-release(5)).
package struct SystemRelease: Hashable, Sendable {
    package private(set) var name = "Linux"
    package private(set) var version = ""

    package init(path: String) {
        self.init(text: (try? String(contentsOfFile: path, encoding: .utf8)) ?? "")
    }

    package init(text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let value = parts[1].trimmingCharacters(in: CharacterSet(charactersIn: "\"' "))
            switch parts[0] {
            case "NAME": name = value
            case "VERSION_ID": version = value
            default: break
            }
        }
    }
}
