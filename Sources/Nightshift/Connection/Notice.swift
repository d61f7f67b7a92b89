import Foundation

/// Messages of the library to the app's developer: lines on standard error.
enum Notice {
    static func print(_ text: String) {
        FileHandle.standardError.write(Data("Nightshift: \(text)\n".utf8))
    }
}
