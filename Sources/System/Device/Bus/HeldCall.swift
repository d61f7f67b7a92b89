import CSystemd

/// A call from another client of the bus, which is kept until it is answered. Used by one thread.
final class HeldCall {
    let pointer: OpaquePointer

    init(_ call: BusMessage) {
        pointer = sd_bus_message_ref(call.pointer)
    }

    deinit {
        sd_bus_message_unref(pointer)
    }

    var expectsAnswer: Bool { sd_bus_message_get_expect_reply(pointer) > 0 }
}
