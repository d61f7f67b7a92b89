import CSystemd

/// A message from the bus, which is read from front to back. It is valid as long as its owner keeps this value.
struct BusMessage {
    let pointer: OpaquePointer

    var isError: Bool { sd_bus_message_is_method_error(pointer, nil) > 0 }

    var failure: BusFailure {
        let error = sd_bus_message_get_error(pointer)?.pointee
        let name = error?.name.map { "the error " + String(cString: $0) } ?? "an error"
        let text = error?.message.map { String(cString: $0) } ?? ""
        return BusFailure("the answer was \(name)" + (text.isEmpty ? "" : ": \(text)"))
    }

    /// The name of the error; empty if the message is not an error.
    var errorName: String {
        sd_bus_message_get_error(pointer)?.pointee.name.map { String(cString: $0) } ?? ""
    }

    /// The cookie of the message that this one answers.
    var answeredCookie: UInt64? {
        var cookie: UInt64 = 0
        return sd_bus_message_get_reply_cookie(pointer, &cookie) >= 0 ? cookie : nil
    }

    var sender: String? { sd_bus_message_get_sender(pointer).map { String(cString: $0) } }
    var path: String? { sd_bus_message_get_path(pointer).map { String(cString: $0) } }

    func isSignal(_ interface: String, _ member: String) -> Bool {
        sd_bus_message_is_signal(pointer, interface, member) > 0
    }

    func isCall(_ interface: String, _ member: String) -> Bool {
        sd_bus_message_is_method_call(pointer, interface, member) > 0
    }

    var isCall: Bool { sd_bus_message_is_method_call(pointer, nil, nil) > 0 }

    /// Returns the result of `read` for an answer, or the failure if the answer is an error.
    func result<Value>(_ read: () throws(BusFailure) -> Value) -> Result<Value, BusFailure> {
        if isError { return .failure(failure) }
        do {
            return .success(try read())
        } catch {
            return .failure(error)
        }
    }

    func readText(_ type: Unicode.Scalar = "s") throws(BusFailure) -> String {
        var text: UnsafePointer<CChar>?
        try check(sd_bus_message_read_basic(pointer, Self.code(type), &text))
        guard let text else { throw Self.unreadable }
        return String(cString: text)
    }

    func readTruth() throws(BusFailure) -> Bool {
        var truth: Int32 = 0
        try check(sd_bus_message_read_basic(pointer, Self.code("b"), &truth))
        return truth != 0
    }

    func readNumber() throws(BusFailure) -> UInt32 { try readFixed("u", UInt32.self) }

    /// Reads a file descriptor. The message owns the descriptor.
    func readDescriptor() throws(BusFailure) -> Int32 {
        var descriptor: Int32 = -1
        try check(sd_bus_message_read_basic(pointer, Self.code("h"), &descriptor))
        return descriptor
    }

    /// Reads a dictionary of names and variants (`a{sv}`), and returns the entries whose names are in `names`.
    func readProperties(_ names: Set<String>) throws(BusFailure) -> [String: BusValue] {
        var properties: [String: BusValue] = [:]
        try enter("a", "{sv}")
        while try enter("e", "sv") {
            let name = try readText()
            if names.contains(name) {
                properties[name] = try readVariant()
            } else {
                try skip("v")
            }
            try leave()
        }
        try leave()
        return properties
    }

    func readTexts() throws(BusFailure) -> [String] {
        var texts: [String] = []
        try enter("a", "s")
        while !isAtEnd { texts.append(try readText()) }
        try leave()
        return texts
    }

    func readVariant() throws(BusFailure) -> BusValue {
        var kind: CChar = 0
        var contents: UnsafePointer<CChar>?
        try check(sd_bus_message_peek_type(pointer, &kind, &contents))
        guard kind == Self.code("v"), let contents else { throw Self.unreadable }
        let signature = String(cString: contents)
        try enter("v", signature)
        let value = try readValue(signature)
        try leave()
        return value
    }

    private func readValue(_ signature: String) throws(BusFailure) -> BusValue {
        switch signature {
        case "b": return .truth(try readTruth())
        case "y": return .integer(Int64(try readFixed("y", UInt8.self)))
        case "n": return .integer(Int64(try readFixed("n", Int16.self)))
        case "q": return .integer(Int64(try readFixed("q", UInt16.self)))
        case "i": return .integer(Int64(try readFixed("i", Int32.self)))
        case "u": return .integer(Int64(try readFixed("u", UInt32.self)))
        case "x": return .integer(try readFixed("x", Int64.self))
        case "t": return .integer(Int64(clamping: try readFixed("t", UInt64.self)))
        case "s": return .text(try readText())
        case "o": return .text(try readText("o"))
        case "d":
            var number = 0.0
            try check(sd_bus_message_read_basic(pointer, Self.code("d"), &number))
            return .number(number)
        default:
            try skip(signature)
            return .other(signature)
        }
    }

    func readFixed<Number: FixedWidthInteger>(
        _ type: Unicode.Scalar, _: Number.Type
    ) throws(BusFailure) -> Number {
        var number: Number = 0
        try check(sd_bus_message_read_basic(pointer, Self.code(type), &number))
        return number
    }

    /// Skips the next value, which has the given signature.
    func skip(_ signature: String) throws(BusFailure) {
        try check(sd_bus_message_skip(pointer, signature))
    }

    var isAtEnd: Bool { sd_bus_message_at_end(pointer, 0) != 0 }

    /// Enters a container. Returns false at the end of the enclosing container.
    @discardableResult
    func enter(_ type: Unicode.Scalar, _ contents: String) throws(BusFailure) -> Bool {
        try check(sd_bus_message_enter_container(pointer, Self.code(type), contents)) > 0
    }

    func leave() throws(BusFailure) {
        try check(sd_bus_message_exit_container(pointer))
    }

    @discardableResult
    private func check(_ result: Int32) throws(BusFailure) -> Int32 {
        if result < 0 { throw Self.unreadable }
        return result
    }

    private static let unreadable = BusFailure("the message cannot be read")

    private static func code(_ type: Unicode.Scalar) -> CChar { CChar(type.value) }
}
