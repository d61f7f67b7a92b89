import Foundation

/// What the library has to say to the app's developer: a line on standard error.
enum Notice {
    static func print(_ text: String) {
        FileHandle.standardError.write(Data("Nightshift: \(text)\n".utf8))
    }
}
