#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A prompt that asks for a password on the terminal without showing it.
enum PasswordPrompt {
    /// Reads a line from `input`, which must be a terminal.
    ///
    /// It turns the terminal's line editing and signals off and reads the characters one by one. Therefore it can turn
    /// the terminal's echo on again after ^C.
    static func read(_ prompt: String, input: Int32 = 0, errors: Output) throws -> String {
        var saved = termios()
        guard isatty(input) == 1, tcgetattr(input, &saved) == 0 else {
            throw CommandFailure.usage(
                "nightshift cannot ask for the password without a terminal. Write --user NAME:PASSWORD, or "
                    + "run the command on a terminal.")
        }
        var silent = saved
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        guard tcsetattr(input, TCSAFLUSH, &silent) == 0 else {
            throw CommandFailure.failed("The echo of the terminal cannot be turned off to hide the password.")
        }
        defer {
            tcsetattr(input, TCSAFLUSH, &saved)
            errors.line()
        }
        errors.write(prompt)
        var bytes: [UInt8] = []
        while true {
            var byte: UInt8 = 0
            let count = Glibc.read(input, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            guard count == 1 else { return String(decoding: bytes, as: UTF8.self) }
            switch byte {
            case 0x0A, 0x0D: return String(decoding: bytes, as: UTF8.self)
            case 0x03: throw CancellationError()
            case 0x04: throw CommandFailure.usage("No password was given.")
            case 0x15: bytes.removeAll()
            case 0x08, 0x7F: _ = bytes.popLast()
            default: bytes.append(byte)
            }
        }
    }
}
