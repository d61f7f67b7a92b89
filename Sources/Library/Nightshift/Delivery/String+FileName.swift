import NightshiftClient

extension String {
    /// Returns the text as a file name. The text is percent-encoded, and shortened if it is too long.
    ///
    /// - Parameter prefix: The start of the name if the text is empty or has only dots.
    func fileName(forDots prefix: String) -> String {
        let name = percentEncoded
        // "." and ".." are not usable as file names.
        guard name.contains(where: { $0 != "." }) else { return prefix + name }
        guard name.utf8.count > 200 else { return name }
        // The FNV-1a hash distinguishes names with the same beginning.
        let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return name.prefix(180) + "-" + String(hash, radix: 16)
    }
}
