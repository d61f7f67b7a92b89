import Foundation

/// Functions that write the library's messages for the app's developer to standard error. A message that cannot be
/// written is lost.
enum Notice {
    static func print(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("Nightshift: \(text)\n".utf8))
    }
}
