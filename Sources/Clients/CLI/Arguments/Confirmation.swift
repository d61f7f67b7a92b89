#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A yes-or-no question on the terminal.
enum Confirmation {
    /// Asks `question` and returns whether the answer is yes. Returns nil if standard input or standard error is not a
    /// terminal, because then the user cannot see or answer the question.
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
