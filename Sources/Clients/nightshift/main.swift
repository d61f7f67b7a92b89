import CLI
import CNightshift
import Foundation
import ServiceCommands

// An installation has one program under two names, because two programs would each contain the Swift runtime.
if CommandLine.arguments.first?.split(separator: "/").last == "nightshiftd" {
    ServiceProgram.main()
}
nightshift_open_standard_descriptors()
let invocation = Invocation.ofThisProcess()
// Some threads of libdispatch request a better nice value than a user may have. Each refusal would write a line to the
// system log. This comes after the environment was read, so that programs that this one starts do not get the variable.
setenv("LIBDISPATCH_LOG", "NO", 0)
exit(await CommandLineProgram.run(invocation).rawValue)
