import Foundation

/// Messages of the library to the app's developer, written to standard error. A message that cannot be written is lost.
enum Notice {
    static func print(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("Nightshift: \(text)\n".utf8))
    }
}
