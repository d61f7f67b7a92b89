import ServiceCommands

ServiceProgram.main()
