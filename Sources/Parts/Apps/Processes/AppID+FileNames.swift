import NightshiftAPI

extension AppID {
    /// A file name that is unique to the app and contains no slash.
    var fileName: String {
        rawValue.replacing("%", with: "%25").replacing("/", with: "%2F")
    }

    /// A name that is unique to the app, of at most 200 letters, digits and `.-_~`. It also names the app's cgroup.
    var shortFileName: String {
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_".utf8)
        if rawValue.utf8.count <= 200, rawValue.utf8.allSatisfy(allowed.contains) { return rawValue }
        // Names without a hash never contain a tilde.
        return "~\(Self.tag(of: rawValue))"
    }

    /// Returns the 64-bit FNV-1a hash of a text as 16 hexadecimal digits. The result for a text must never change.
    static func tag(of text: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
