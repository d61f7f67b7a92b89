import NightshiftAPI

extension AppID {
    /// A name for files: no two apps share it, and it has no slash.
    var fileName: String {
        rawValue.replacing("%", with: "%25").replacing("/", with: "%2F")
    }

    /// A name that no two apps share, of at most 200 letters, digits and `.-_~`: also for folders of the kernel's.
    var shortFileName: String {
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_".utf8)
        if rawValue.utf8.count <= 200, rawValue.utf8.allSatisfy(allowed.contains) { return rawValue }
        // The tilde stands in no plain name.
        return "~\(Self.tag(of: rawValue))"
    }

    /// FNV-1a in 64 bits: any name in 16 hexadecimal digits, the same for ever.
    static func tag(of text: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
