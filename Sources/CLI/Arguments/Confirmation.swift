#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A question on the terminal that is answered with yes or no.
enum Confirmation {
    /// Nil where standard input or standard error is no terminal: nobody would see the question, or answer it.
    static func ask(_ question: String, errors: Output) -> Bool? {
        guard isatty(0) == 1, errors.isTerminal else { return nil }
        errors.write(question + " [y/N] ")
        guard let answer = readLine() else {
            errors.line()
            return false
        }
        return ["y", "yes"].contains(answer.trimmingSpaces().lowercased())
    }
}
