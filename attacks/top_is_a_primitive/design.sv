primitive fixed_priority_arbiter (q, a);
    output q;
    input a;
    table
        0 : 0;
        1 : 1;
    endtable
endprimitive
config fixed_priority_arbiter;
    design work.fixed_priority_arbiter;
endconfig
package fixed_priority_arbiter;
endpackage
