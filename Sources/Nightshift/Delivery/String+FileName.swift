import NightshiftClient

extension String {
    /// Returns the text as the name of one file: percent-encoded, and shortened where it is too long for one.
    ///
    /// - Parameter prefix: begins the name of a text that is empty or has only dots.
    func fileName(forDots prefix: String) -> String {
        let name = percentEncoded
        // "." and ".." are no names of their own.
        guard name.contains(where: { $0 != "." }) else { return prefix + name }
        guard name.utf8.count > 200 else { return name }
        // FNV-1a tells names apart that begin alike.
        let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return name.prefix(180) + "-" + String(hash, radix: 16)
    }
}
