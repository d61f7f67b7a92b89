import CSystemd

/// A call of somebody on the bus, kept until it is answered. Of one thread.
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
